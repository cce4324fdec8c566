// Package servicetest has the use cases on a database of the test.
package servicetest

import (
	"candor/internal/service"
	"candor/internal/vault"
)

// Config is what the use cases need.
type Config = service.Config

// Services are the use cases, with what they were made of.
type Services struct {
	service.Services
	Config
	Vault *vault.Vault
}

// New wires the use cases.
func New(c Config) *Services {
	return &Services{Services: service.New(c), Config: c, Vault: vault.New(c.Ring, c.Blobs)}
}
