module wq.internal/wq

go 1.23
