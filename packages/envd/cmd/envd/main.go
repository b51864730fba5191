// Command envd is the daemon inside a sandbox. It starts programs as the users of the sandbox, carries their input and output,
// reads and writes files, and watches them, for everybody who has the sandbox's token.
//
//	envd [--host ADDRESS] [--port PORT] [--ready-fd FD] [--single-user --home DIRECTORY]
//	envd hostname NAME|-
//
// A checkpoint holds nothing of the host: no sockets of Multipath TCP, no open files of control groups.
//
//go:debug multipathtcp=0
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"svc.example/envd/gen/filesystem/filesystemconnect"
	"svc.example/envd/gen/process/processconnect"
	"svc.example/envd/internal/account"
	"svc.example/envd/internal/files"
	"svc.example/envd/internal/filesystem"
	"svc.example/envd/internal/httpapi"
	"svc.example/envd/internal/logring"
	"svc.example/envd/internal/memory"
	"svc.example/envd/internal/process"
	"svc.example/envd/internal/reaper"
	"svc.example/envd/internal/runas"
	"svc.example/envd/internal/sandbox"
	"svc.example/envd/internal/sftp"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "envd: %v\n", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) > 0 && arguments[0] == "hostname" {
		return setHostname(arguments[1:], os.Stdin)
	}
	options, err := parseOptions(arguments)
	if err != nil {
		return err
	}
	state := sandbox.New()
	if options.home != "" {
		state = sandbox.NewSingle(options.home)
		runas.Disable()
	} else if os.Getuid() == 0 {
		// Programs must not inherit the groups of the process that started the daemon.
		syscall.Setgroups(nil)
	}
	if err := process.Reap(); err != nil {
		return err
	}
	listener, err := httpapi.Listen(net.JoinHostPort(options.host, strconv.Itoa(int(options.port))))
	if err != nil {
		return err
	}
	logs := logring.New()
	processes := process.New(state, logs)
	if options.home != "" {
		// Without a sandbox around it the daemon's processes would outlive it.
		endOnTerminate(processes.KillAll)
	} else {
		endOnTerminate(func() {})
	}
	if err := announce(options.readyFD, listener.Addr().(*net.TCPAddr).Port); err != nil {
		return err
	}
	memory.KeepSmall()
	return httpapi.Serve(listener, memory.Noting(httpapi.NewHandler(parts(state, logs, processes))))
}

// parts puts the services together.
func parts(state *sandbox.State, logs *logring.Ring, processes *process.Service) httpapi.Parts {
	options := httpapi.RPCOptions()
	processPath, processHandler := processconnect.NewProcessHandler(processes, process.Options(options)...)
	filesystemPath, filesystemHandler := filesystemconnect.NewFilesystemHandler(filesystem.New(state), options...)
	return httpapi.Parts{
		State:    state,
		Logs:     logs,
		Services: map[string]http.Handler{processPath: processHandler, filesystemPath: filesystemHandler},
		Restored: processes.Restored,
		Files:    files.Handler(state),
		SFTP: func(user account.User, stream io.ReadWriteCloser) {
			if err := sftp.Serve(state, user, stream); err != nil {
				fmt.Fprintf(os.Stderr, "envd: an SFTP session failed: %v\n", err)
			}
		},
		Run: reaper.Run,
	}
}

// endOnTerminate ends the daemon at once on SIGTERM, after the call.
func endOnTerminate(call func()) {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	go func() {
		<-terminated
		call()
		os.Exit(0)
	}()
}

// announce writes the port to the descriptor of whoever started the daemon.
func announce(descriptor, port int) error {
	if descriptor < 0 {
		return nil
	}
	ready := os.NewFile(uintptr(descriptor), "ready")
	if _, err := fmt.Fprintf(ready, "{\"port\":%d}\n", port); err != nil {
		return fmt.Errorf("--ready-fd %d: %w", descriptor, err)
	}
	return ready.Close()
}
