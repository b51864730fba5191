// Package memory keeps the daemon small. What it holds is the sandbox's memory, and goes into every checkpoint and fork.
package memory

import (
	"net/http"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

const (
	// growth is how far the heap may grow beyond what is alive before it is collected, percent.
	growth = 50
	// restTime is how long nothing must have happened before memory goes back to the system.
	restTime = 500 * time.Millisecond
	// worthwhile is how much of the heap must be idle for that, bytes.
	worthwhile = 1 << 20
	// mostThreads bounds processors that run the daemon at once: it mostly waits, and each one has caches of its own.
	mostThreads = 4
)

var lastRequest atomic.Int64

// KeepSmall sets the limits of the heap, and has memory given back some time after requests.
func KeepSmall() {
	debug.SetGCPercent(growth)
	runtime.GOMAXPROCS(min(mostThreads, runtime.NumCPU()))
}

// Noting gives memory back once requests of the handler have been answered and nothing follows. A daemon that nobody asks does
// nothing.
func Noting(handler http.Handler) http.Handler {
	var waiting atomic.Bool
	return http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		defer func() {
			lastRequest.Store(time.Now().UnixNano())
			if waiting.CompareAndSwap(false, true) {
				time.AfterFunc(restTime, func() { giveBack(&waiting) })
			}
		}()
		handler.ServeHTTP(response, request)
	})
}

func giveBack(waiting *atomic.Bool) {
	if rest := restTime - time.Duration(time.Now().UnixNano()-lastRequest.Load()); rest > 0 {
		time.AfterFunc(rest, func() { giveBack(waiting) })
		return
	}
	waiting.Store(false)
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	if stats.HeapSys-stats.HeapReleased-stats.HeapAlloc > worthwhile || stats.HeapAlloc > 2*worthwhile {
		// Objects in pools survive the first collection and go with the second.
		runtime.GC()
		debug.FreeOSMemory()
	}
}
