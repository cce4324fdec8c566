package main_test

import (
	"os"
	"testing"

	"candor/internal/testkit/process"
)

func TestMain(m *testing.M) { os.Exit(process.Main(m)) }
