module candor.example/candor-go

go 1.24
