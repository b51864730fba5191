package process

import (
	"fmt"
	"syscall"

	wire "svc.example/envd/gen/process"
)

// endOf says how a program ended: "exit status 3", "signal: killed".
func endOf(status syscall.WaitStatus) *wire.ProcessEvent_EndEvent {
	if status.Signaled() {
		text := "signal: " + status.Signal().String()
		return &wire.ProcessEvent_EndEvent{ExitCode: -1, Status: text, Error: &text}
	}
	return exited(status.ExitStatus())
}

func exited(code int) *wire.ProcessEvent_EndEvent {
	end := &wire.ProcessEvent_EndEvent{ExitCode: int32(code), Exited: true, Status: fmt.Sprintf("exit status %d", code)}
	if code != 0 {
		end.Error = &end.Status
	}
	return end
}
