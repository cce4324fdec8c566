// Sdk writes what the SDKs have from the API's OpenAPI document (D100): types, a
// method for each operation, the codes of errors and the names of events. The rest
// of sdk/go and sdk/node is written by hand.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"candor/handlers"
)

func main() {
	root := flag.String("root", "sdk", "the folder of the SDKs")
	version := flag.String("version", "0.0.0", "what the SDKs call themselves")
	flag.Parse()
	if err := write(*root, *version); err != nil {
		fmt.Fprintln(os.Stderr, "sdk:", err)
		os.Exit(1)
	}
}

// write writes the generated file of each SDK.
func write(root, version string) error {
	document, err := handlers.Document("https://candor.example")
	if err != nil {
		return err
	}
	api, err := newAPI(document)
	if err != nil {
		return err
	}
	source, err := api.golang(version)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, "go", "generated.go"), source, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "node", "src", "generated.ts"), api.typescript(version), 0o644)
}
