package handlers_test

import (
	"os"
	"testing"

	"candor/internal/testkit/browsertest"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }
