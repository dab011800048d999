package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
)

// Disk is the room where a server on one machine keeps its state.
type Disk struct {
	Free  int64 `json:"freeBytes"`
	Total int64 `json:"totalBytes"`
	Low   bool  `json:"low" doc:"There is so little that the disk may be full soon"`
}

// LowDisk is how many bytes are free at least on a disk that isn't low. A busy
// day writes less.
const LowDisk = 512 << 20

// Health is what a server tells of itself.
type Health struct {
	Version string `json:"version"`
	Disk    *Disk  `json:"disk,omitempty" doc:"Of the server's data folder; none where there is no such disk"`
}

func (s *Server) health() {
	exempt(s, action.Self, huma.Operation{
		OperationID: "getHealth", Method: http.MethodGet, Path: "/v1/health", Tags: []string{"Server"},
		Summary: "Say which version the server is, and how much room its disk has",
	}, s.getHealth)
}

func (s *Server) getHealth(context.Context, *struct{}) (*struct{ Body Health }, error) {
	h := Health{Version: s.Version}
	if s.Disk != nil {
		free, total, err := s.Disk()
		if err != nil {
			return nil, err
		}
		h.Disk = &Disk{Free: free, Total: total, Low: free < LowDisk}
	}
	return &struct{ Body Health }{h}, nil
}
