package db_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rawMethods run statements of sqlx and database/sql, whose text is a string.
var rawMethods = []string{
	"Exec", "ExecContext", "MustExec", "MustExecContext", "NamedExec", "NamedExecContext", "NamedQuery", "NamedQueryContext",
	"Prepare", "PrepareContext",
	"PrepareNamed", "PrepareNamedContext", "Preparex", "PreparexContext", "Query", "QueryContext", "QueryRow", "QueryRowContext",
	"QueryRowx",
	"QueryRowxContext", "Queryx", "QueryxContext", "Get", "GetContext", "Select", "SelectContext",
}

// The compiler refuses a string as a statement's text. This test checks the
// rest: only sql.go makes SQL of strings, only queries.go runs statements, and
// only tests and tools call Raw.
func TestNoStringBecomesSQL(t *testing.T) {
	t.Parallel()
	exempt := []string{"../tools", "../internal/testkit", "../node_modules", "../scripts", "../db/sql.go", "../db/queries.go",
		"../db/migrate.go", "../internal/platform/postgres"}
	seen := 0
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case slices.Contains(exempt, path) || path != ".." && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir(), !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go"), strings.HasSuffix(path, "_templ.go"):
			return nil
		}
		seen++
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		inDB := strings.HasPrefix(path, "../db/")
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name, of := called(call)
			constant := len(call.Args) == 1 && isLiteral(call.Args[0])
			switch {
			case inDB && name == "sqlText" && !constant:
				t.Errorf("%s makes SQL of a string: pass values as arguments", files.Position(call.Pos()))
			case name == "Raw" && len(call.Args) == 0:
				t.Errorf("%s calls Raw: give package db a method for the statement", files.Position(call.Pos()))
			case inDB && slices.Contains(rawMethods, name) && of != "stmt":
				t.Errorf("%s runs a statement by %s, which takes a string: use the methods in queries.go", files.Position(call.Pos()), name)
			}
			return true
		})
		return nil
	})
	if err != nil || seen < 100 {
		t.Errorf("%d files were looked at, %v", seen, err)
	}
}

func isLiteral(e ast.Expr) bool {
	_, ok := e.(*ast.BasicLit)
	return ok
}

// called is the name of what is called, and of what it is called of.
func called(call *ast.CallExpr) (name, of string) {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return fun.Name, ""
	case *ast.SelectorExpr:
		if x, ok := fun.X.(*ast.Ident); ok {
			of = x.Name
		}
		return fun.Sel.Name, of
	}
	return "", ""
}
