module github.com/slipway-cd/slipway

go 1.26
