package process

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"

	"connectrpc.com/connect"
	"golang.org/x/sys/unix"
	wire "svc.example/envd/gen/process"
	"svc.example/envd/gen/process/processconnect"
	"svc.example/envd/internal/sandbox"
)

// noLogs forgets what it is told.
type noLogs struct{}

func (noLogs) Append(int, string, string, []byte) {}
func (noLogs) End(int, string, string)            {}

type client struct {
	processconnect.ProcessClient
	t       *testing.T
	service *Service
	url     string
}

// serve starts a service in single-user mode and connects to it.
func serve(t *testing.T) *client {
	t.Helper()
	return serveState(t, sandbox.NewSingle(t.TempDir()))
}

func serveState(t *testing.T, state *sandbox.State) *client {
	t.Helper()
	service := New(state, noLogs{})
	_, handler := processconnect.NewProcessHandler(service, Options(nil)...)
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		service.KillAll()
		server.CloseClientConnections()
		server.Close()
	})
	return &client{processconnect.NewProcessClient(server.Client(), server.URL, connect.WithProtoJSON()), t, service, server.URL}
}

// A run is a process with its stream of events.
type run struct {
	t      *testing.T
	pid    uint32
	stream events
	stdout strings.Builder
	stderr strings.Builder
	pty    strings.Builder
	end    *wire.ProcessEvent_EndEvent
	err    error
}

type events interface {
	Receive() bool
	Err() error
	event() *wire.ProcessEvent
}

type started struct {
	*connect.ServerStreamForClient[wire.StartResponse]
}

func (s started) event() *wire.ProcessEvent { return s.Msg().Event }

type attached struct {
	*connect.ServerStreamForClient[wire.ConnectResponse]
}

func (s attached) event() *wire.ProcessEvent { return s.Msg().Event }

func (c *client) start(request *wire.StartRequest, headers ...string) *run {
	c.t.Helper()
	return c.startIn(context.Background(), request, headers...)
}

func (c *client) startIn(ctx context.Context, request *wire.StartRequest, headers ...string) *run {
	c.t.Helper()
	call := connect.NewRequest(request)
	for i := 0; i < len(headers); i += 2 {
		call.Header().Set(headers[i], headers[i+1])
	}
	stream, err := c.Start(ctx, call)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.begin(started{stream})
}

func (c *client) attach(pid uint32, from *uint64) *run {
	c.t.Helper()
	stream, err := c.Connect(context.Background(), connect.NewRequest(&wire.ConnectRequest{Process: byPID(pid), From: from}))
	if err != nil {
		c.t.Fatal(err)
	}
	return c.begin(attached{stream})
}

func (c *client) begin(stream events) *run {
	c.t.Helper()
	r := &run{t: c.t, stream: stream}
	if stream.Receive() {
		r.pid = stream.event().GetStart().GetPid()
	}
	r.err = stream.Err()
	return r
}

// next reads one more event.
func (r *run) next() bool {
	if !r.stream.Receive() {
		r.err = r.stream.Err()
		return false
	}
	event := r.stream.event()
	if data := event.GetData(); data != nil {
		r.stdout.Write(data.GetStdout())
		r.stderr.Write(data.GetStderr())
		r.pty.Write(data.GetPty())
	}
	if end := event.GetEnd(); end != nil {
		r.end = end
	}
	return true
}

// finish reads to the end of the stream.
func (r *run) finish() *run {
	for r.next() {
	}
	return r
}

func (r *run) until(text string) *run {
	r.t.Helper()
	for !strings.Contains(r.stdout.String()+r.stderr.String()+r.pty.String(), text) {
		if !r.next() {
			r.t.Fatalf("ended before %q: %q %q %v", text, r.stdout.String(), r.stderr.String(), r.err)
		}
	}
	return r
}

func shellLine(line string) *wire.StartRequest {
	no := false
	return &wire.StartRequest{Process: &wire.ProcessConfig{Cmd: "sh", Args: []string{"-c", line}}, Stdin: &no}
}

func withInput(request *wire.StartRequest) *wire.StartRequest {
	request.Stdin = nil
	return request
}

func inTerminal(line string) *wire.StartRequest {
	request := withInput(shellLine(line))
	request.Pty = &wire.PTY{Size: &wire.PTY_Size{Cols: 80, Rows: 24}}
	return request
}

func (c *client) send(pid uint32, text string) error {
	_, err := c.SendInput(context.Background(), connect.NewRequest(&wire.SendInputRequest{
		Process: byPID(pid), Input: &wire.ProcessInput{Input: &wire.ProcessInput_Stdin{Stdin: []byte(text)}},
	}))
	return err
}

func (c *client) kill(pid uint32) {
	c.t.Helper()
	c.signal(pid, wire.Signal_SIGNAL_SIGKILL)
}

func (c *client) signal(pid uint32, number wire.Signal) {
	c.t.Helper()
	request := connect.NewRequest(&wire.SendSignalRequest{Process: byPID(pid), Signal: number})
	if _, err := c.SendSignal(context.Background(), request); err != nil {
		c.t.Fatal(err)
	}
}

func lives(pid int) bool {
	state, _, _, ok := readStat(fmt.Sprint(pid), make([]byte, 512))
	return ok && state != 'Z'
}

func TestStartStreamsOutputsAndStatus(t *testing.T) {
	c := serve(t)
	r := c.start(shellLine("echo out; echo err >&2; exit 3")).finish()
	if r.err != nil || r.stdout.String() != "out\n" || r.stderr.String() != "err\n" {
		t.Fatal(r.err, r.stdout.String(), r.stderr.String())
	}
	if r.end.ExitCode != 3 || !r.end.Exited || r.end.Status != "exit status 3" || r.end.GetError() != "exit status 3" {
		t.Fatal(r.end)
	}
	if end := c.start(shellLine("true")).finish().end; end.ExitCode != 0 || end.Error != nil {
		t.Fatal(end)
	}
}

func TestSignalsAreNamed(t *testing.T) {
	c := serve(t)
	for name, status := range map[string]string{
		"KILL": "signal: killed", "TERM": "signal: terminated", "SEGV": "signal: segmentation fault", "HUP": "signal: hangup",
	} {
		end := c.start(shellLine("kill -" + name + " $$")).finish().end
		if end.ExitCode != -1 || end.Exited || end.Status != status || end.GetError() != status {
			t.Error(name, end)
		}
	}
}

func TestProgramsThatCannotBeRun(t *testing.T) {
	c := serve(t)
	folder := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := folder + "/" + name
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, test := range []struct {
		command string
		code    int32
		text    string
	}{
		{"no-such-program", 127, "no-such-program: no such file or directory (ENOENT): it is in no directory of PATH"},
		{folder + "/nothing", 127, "nothing is there"},
		{write("plain", "text", 0o644), 126, "permission denied (EACCES): this user may not execute it"},
		{folder, 126, "it is a directory"},
		{write("script", "#!/no/interpreter -x\n", 0o755), 127, "its interpreter /no/interpreter is not"},
		{write("windows", "#!/bin/sh\r\n", 0o755), 127, "carriage return"},
		{write("foreign", "\x7fELF\x00\x00\x00", 0o755), 126, "exec format error (ENOEXEC): it is built for another kind"},
	} {
		r := c.start(&wire.StartRequest{Process: &wire.ProcessConfig{Cmd: test.command}}).finish()
		if r.err != nil || r.end.GetExitCode() != test.code || !strings.Contains(r.stderr.String(), test.text) {
			t.Errorf("%s: %v %v %q", test.command, r.err, r.end, r.stderr.String())
		}
		again := c.attach(r.pid, new(uint64)).finish()
		if again.stderr.String() != r.stderr.String() || again.end.GetExitCode() != test.code {
			t.Errorf("%s, asked later: %v %q", test.command, again.end, again.stderr.String())
		}
	}
	r := c.start(&wire.StartRequest{Process: &wire.ProcessConfig{Cmd: "no-such"}, Pty: &wire.PTY{}}).finish()
	if !strings.HasSuffix(r.pty.String(), "\r\n") || r.end.ExitCode != 127 {
		t.Error(r.pty.String(), r.end)
	}
	bare := write("bare", "echo \"$0 $1\"", 0o755)
	if r := c.start(&wire.StartRequest{Process: &wire.ProcessConfig{Cmd: bare, Args: []string{"x"}}}).finish(); r.stdout.String() != bare+" x\n" {
		t.Error("a script without an interpreter:", r.stdout.String(), r.stderr.String())
	}
}

func TestRefusedStarts(t *testing.T) {
	c := serve(t)
	for name, test := range map[string]struct {
		request *wire.StartRequest
		user    string
		code    connect.Code
		text    string
	}{
		"missing directory": {&wire.StartRequest{Process: &wire.ProcessConfig{Cmd: "true", Cwd: new("/no/such/place")}}, "", connect.CodeInvalidArgument, "/no/such/place"},
		"a file":            {&wire.StartRequest{Process: &wire.ProcessConfig{Cmd: "true", Cwd: new("/etc/passwd")}}, "", connect.CodeInvalidArgument, "not a directory"},
		"NUL":               {&wire.StartRequest{Process: &wire.ProcessConfig{Cmd: "true", Envs: map[string]string{"KEY": "hidden\x00value"}}}, "", connect.CodeInvalidArgument, "NUL"},
		"no command":        {&wire.StartRequest{}, "", connect.CodeInvalidArgument, "no command"},
		"too long":          {&wire.StartRequest{Process: &wire.ProcessConfig{Cmd: "true", Args: []string{strings.Repeat("x", 1<<22)}}}, "", connect.CodeInvalidArgument, "E2BIG"},
		"unknown user":      {shellLine("true"), "Basic d2hvLWlzLXRoYXQ6", connect.CodeUnauthenticated, "who-is-that"},
	} {
		r := c.start(test.request, "Authorization", test.user)
		if connect.CodeOf(r.err) != test.code || !strings.Contains(r.err.Error(), test.text) || strings.Contains(r.err.Error(), "hidden") {
			t.Errorf("%s: %v", name, r.err)
		}
	}
}

func TestEnvironmentIsThatOfTheAccountAndTheRequest(t *testing.T) {
	c := serve(t)
	r := c.start(&wire.StartRequest{Process: &wire.ProcessConfig{Cmd: "env", Envs: map[string]string{"GREETING": "hi"}}}).finish()
	var names []string
	for line := range strings.Lines(r.stdout.String()) {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	if got := strings.Join(names, " "); got != "GREETING HOME LOGNAME PATH USER" {
		t.Error(got)
	}
}

func TestOutputsAndTerminalsOpenByName(t *testing.T) {
	c := serve(t)
	r := c.start(shellLine("echo a >/dev/stdout; echo b >/dev/stderr")).finish()
	if r.stdout.String() != "a\n" || r.stderr.String() != "b\n" {
		t.Error(r.stdout.String(), r.stderr.String())
	}
	r = c.start(inTerminal(`echo named >"$(tty)"; echo own >/dev/tty; stty size`)).finish()
	if r.pty.String() != "named\r\nown\r\n24 80\r\n" {
		t.Errorf("%q", r.pty.String())
	}
}

func TestDeadlineKillsAndKeepsTheEnd(t *testing.T) {
	c := serve(t)
	r := c.start(shellLine("exec sleep 600"), "Connect-Timeout-Ms", "300").finish()
	if connect.CodeOf(r.err) != connect.CodeDeadlineExceeded || r.end != nil {
		t.Fatal(r.err, r.end)
	}
	if late := c.attach(r.pid, nil).finish(); late.end.GetStatus() != "signal: killed" {
		t.Error(late.end, late.err)
	}
}

func TestDeadlineHoldsWithoutReaders(t *testing.T) {
	c := serve(t)
	ctx, leave := context.WithCancel(context.Background())
	r := c.startIn(ctx, shellLine("exec sleep 600"), "Connect-Timeout-Ms", "500")
	leave()
	if late := c.attach(r.pid, nil).finish(); late.end.GetStatus() != "signal: killed" {
		t.Error(late.end, late.err)
	}
}

func TestKillEndsTheSessionAndTermTheProgramAlone(t *testing.T) {
	c := serve(t)
	line := `trap 'echo caught; exit 5' TERM; (setsid sleep 600 >/dev/null 2>&1 & echo $!); sleep 600 & echo $!; set -m; sleep 600 & echo $!; echo up; wait`
	pids := func(r *run) (others int, own, job int) {
		if _, err := fmt.Sscan(r.until("up").stdout.String(), &others, &own, &job); err != nil {
			t.Fatal(err)
		}
		eventually(t, "a session of its own", func() bool {
			_, _, session, _ := readStat(fmt.Sprint(others), make([]byte, 512))
			return session == others
		})
		return others, own, job
	}
	start := func() *run {
		request := shellLine(line)
		// With job control a job is a process group of its own; not every sh has that without a terminal.
		request.Process.Cmd = "bash"
		return c.start(request)
	}
	r := start()
	other, own, job := pids(r)
	if _, group, _, _ := readStat(fmt.Sprint(job), make([]byte, 512)); group != job {
		t.Fatal("the job is in group", group)
	}
	t.Cleanup(func() { syscall.Kill(other, syscall.SIGKILL) })
	c.kill(r.pid)
	if r.finish().end.GetStatus() != "signal: killed" {
		t.Error(r.end, r.err)
	}
	eventually(t, "the session to end", func() bool { return !lives(own) && !lives(job) })
	if !lives(other) {
		t.Error("a program of another session was killed")
	}

	r = start()
	other, own, job = pids(r)
	t.Cleanup(func() { syscall.Kill(other, syscall.SIGKILL) })
	c.signal(r.pid, wire.Signal_SIGNAL_SIGTERM)
	if r.finish().end.GetExitCode() != 5 || !strings.Contains(r.stdout.String(), "caught") {
		t.Error(r.end, r.err, r.stdout.String())
	}
	if !lives(other) || !lives(own) || !lives(job) {
		t.Error("SIGTERM reached more than the program")
	}
	syscall.Kill(own, syscall.SIGKILL)
	syscall.Kill(job, syscall.SIGKILL)
}

func TestWhatIsLeftOfASessionCanBeKilled(t *testing.T) {
	for _, number := range []wire.Signal{wire.Signal_SIGNAL_SIGTERM, wire.Signal_SIGNAL_SIGKILL} {
		c := serve(t)
		r := c.start(shellLine("sleep 600 & echo $!; echo up")).until("up")
		var left int
		fmt.Sscan(r.stdout.String(), &left)
		eventually(t, "the program to end", func() bool { return !lives(int(r.pid)) })
		c.signal(r.pid, number)
		if r.finish().end.GetStatus() != "exit status 0" {
			t.Error(r.end, r.err)
		}
		eventually(t, "the child to end", func() bool { return !lives(left) })
	}
}

func TestInputReachesTheProgramInOrder(t *testing.T) {
	c := serve(t)
	r := c.start(withInput(shellLine("cat")))
	stream := c.StreamInput(context.Background())
	stream.Send(&wire.StreamInputRequest{Event: &wire.StreamInputRequest_Start{Start: &wire.StreamInputRequest_StartEvent{Process: byPID(r.pid)}}})
	var want strings.Builder
	for number := range 500 {
		line := fmt.Sprintf("line %d\n", number)
		want.WriteString(line)
		stream.Send(&wire.StreamInputRequest{Event: &wire.StreamInputRequest_Data{Data: &wire.StreamInputRequest_DataEvent{
			Input: &wire.ProcessInput{Input: &wire.ProcessInput_Stdin{Stdin: []byte(line)}},
		}}})
	}
	if _, err := stream.CloseAndReceive(); err != nil {
		t.Fatal(err)
	}
	closeStdin := connect.NewRequest(&wire.CloseStdinRequest{Process: byPID(r.pid)})
	if _, err := c.CloseStdin(context.Background(), closeStdin); err != nil {
		t.Fatal(err)
	}
	if r.finish().stdout.String() != want.String() {
		t.Error(r.stdout.Len(), r.end)
	}
}

func TestCloseStdinComesAfterWhatIsWritten(t *testing.T) {
	c := serve(t)
	r := c.start(withInput(shellLine("read go; cat | wc -c")))
	p, err := c.service.find(byPID(r.pid))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		done <- p.input.write(context.Background(), append([]byte("go\n"), make([]byte, 1_000_000)...))
	}()
	eventually(t, "the writer to be at it", func() bool { return len(p.input.turn) == 0 || len(done) == 1 })
	p.input.end()
	if err := c.send(r.pid, "late"); connect.CodeOf(err) != connect.CodeInternal && connect.CodeOf(err) != connect.CodeNotFound {
		t.Error("input after its end:", err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := strings.TrimSpace(r.finish().stdout.String()); got != "1000000" {
		t.Error(got)
	}
}

func TestSlowReaderStopsTheProgram(t *testing.T) {
	c := serve(t)
	no := false
	p := newProcess(c.service, &wire.StartRequest{Process: &wire.ProcessConfig{Cmd: "head", Args: []string{"-c", "40000000", "/dev/zero"}}, Stdin: &no})
	p.user, _ = c.service.state.Users.Find("user")
	request := &wire.StartRequest{Process: p.config, Stdin: &no}
	if err := p.start(request, map[string]string{"PATH": os.Getenv("PATH")}); err != nil {
		t.Fatal(err)
	}
	reader := p.subscribe(0)
	p.follow()
	kept := func() int64 {
		c.service.mutex.Lock()
		defer c.service.mutex.Unlock()
		return p.output.end
	}
	eventually(t, "the reader to be behind", func() bool {
		c.service.mutex.Lock()
		defer c.service.mutex.Unlock()
		return reader.full
	})
	if stopped := kept(); stopped > highWaterBytes+2*bufferBytes {
		t.Error("kept for a reader that is behind:", stopped)
	}
	var total int64
	ended := false
	err := reader.stream(context.Background(), nil, false, func(event *wire.ProcessEvent) error {
		total += int64(len(event.GetData().GetStdout()))
		ended = ended || event.GetEnd() != nil
		return nil
	})
	if err != nil || total != 40_000_000 || !ended {
		t.Error(err, total, ended)
	}
}

func TestTerminalLosesNothingBeforeItsEnd(t *testing.T) {
	c := serve(t)
	for range 5 {
		r := c.start(inTerminal(`head -c 1000000 /dev/zero | tr "\0" x`)).finish()
		if r.pty.Len() != 1_000_000 || r.end.GetStatus() != "exit status 0" {
			t.Error(r.pty.Len(), r.end, r.err)
		}
	}
}

func TestReadersShareAndReplay(t *testing.T) {
	c := serve(t)
	r := c.start(withInput(shellLine(`echo first; read line; echo "then $line"`))).until("first\n")
	offset := func(n uint64) *uint64 { return &n }
	whole, part, later := c.attach(r.pid, offset(0)), c.attach(r.pid, offset(2)), c.attach(r.pid, nil)
	if err := c.send(r.pid, "more\n"); err != nil {
		t.Fatal(err)
	}
	for reader, want := range map[*run]string{r: "first\nthen more\n", whole: "first\nthen more\n", part: "rst\nthen more\n", later: "then more\n"} {
		if got := reader.finish().stdout.String(); got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
	if ended := c.attach(r.pid, offset(1<<64-1)).finish(); ended.stdout.Len() != 0 || ended.end == nil {
		t.Error(ended.stdout.String(), ended.end)
	}
}

func TestKeepalivesComeInSilence(t *testing.T) {
	c := serve(t)
	r := c.start(shellLine("exec sleep 600"), "Keepalive-Ping-Interval", "1")
	if !r.stream.Receive() || r.stream.event().GetKeepalive() == nil {
		t.Error(r.stream.Err())
	}
	c.kill(r.pid)
	r.finish()
}

func TestListAndTags(t *testing.T) {
	c := serve(t)
	request := shellLine("exec sleep 600")
	request.Tag = new("web")
	older, newer := c.start(request), c.start(request)
	list, err := c.List(context.Background(), connect.NewRequest(&wire.ListRequest{}))
	if err != nil || len(list.Msg.Processes) != 2 || list.Msg.Processes[0].Pid != older.pid || list.Msg.Processes[1].Pid != newer.pid {
		t.Fatal(err, list)
	}
	tagged := &wire.SendSignalRequest{
		Process: &wire.ProcessSelector{Selector: &wire.ProcessSelector_Tag{Tag: "web"}}, Signal: wire.Signal_SIGNAL_SIGTERM,
	}
	for _, r := range []*run{newer, older} {
		if _, err := c.SendSignal(context.Background(), connect.NewRequest(tagged)); err != nil {
			t.Fatal(err)
		}
		if r.finish().end.GetStatus() != "signal: terminated" {
			t.Error(r.end)
		}
	}
	if _, err := c.SendSignal(context.Background(), connect.NewRequest(tagged)); connect.CodeOf(err) != connect.CodeNotFound {
		t.Error(err)
	}
}

func TestUsers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("changing users needs root")
	}
	c := serveState(t, sandbox.New())
	as := func(request *wire.StartRequest) *run {
		request.Process.Cwd = new("/")
		return c.start(request, "Authorization", "Basic bm9ib2R5Og==").finish()
	}
	r := as(shellLine("id -un; grep ^Groups: /proc/self/status; grep ^CapEff /proc/self/status; echo a >/dev/stdout; echo b >/dev/stderr"))
	if !strings.HasPrefix(r.stdout.String(), "nobody\nGroups:\t \nCapEff:\t0000000000000000\na\n") || r.stderr.String() != "b\n" {
		t.Errorf("%q %q", r.stdout.String(), r.stderr.String())
	}
	if r := as(inTerminal(`id -un; echo named >"$(tty)"; echo own >/dev/tty`)); r.pty.String() != "nobody\r\nnamed\r\nown\r\n" {
		t.Errorf("%q", r.pty.String())
	}
	closed := t.TempDir()
	os.Chmod(closed, 0o700)
	r = c.start(&wire.StartRequest{Process: &wire.ProcessConfig{Cmd: "true", Cwd: &closed}}, "Authorization", "Basic bm9ib2R5Og==")
	if connect.CodeOf(r.err) != connect.CodeInvalidArgument || !strings.Contains(r.err.Error(), "permission denied") {
		t.Error(r.err)
	}
}

// A process that is not dumpable cannot be stored a second time.
func TestProcessStaysDumpable(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("changing users needs root")
	}
	c := serveState(t, sandbox.New())
	request := shellLine("true")
	request.Process.Cwd = new("/")
	if r := c.start(request, "Authorization", "Basic bm9ib2R5Og==").finish(); r.end.GetExitCode() != 0 {
		t.Fatal(r.end, r.err)
	}
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil || dumpable != 1 {
		t.Error(dumpable, err)
	}
}

func TestNothingIsLeftOpen(t *testing.T) {
	c := serve(t)
	count := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	c.start(shellLine("true")).finish()
	before := count()
	for round := range 60 {
		request := shellLine("true")
		switch round % 3 {
		case 1:
			request = withInput(request)
		case 2:
			request = inTerminal("true")
		}
		c.start(request).finish()
	}
	eventually(t, "descriptors to be closed", func() bool { return count() <= before })
}

func TestInputThatIsCutShort(t *testing.T) {
	c := serve(t)
	whole := "\x00\x00\x00\x00\x10{\"keepalive\":{}}"
	for _, size := range []int{1, 4, 5, len(whole) - 1} {
		request, _ := http.NewRequest(http.MethodPost, c.url+processconnect.ProcessStreamInputProcedure, strings.NewReader(whole[:size]))
		request.Header.Set("Content-Type", "application/connect+json")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if !strings.Contains(string(answer), `"code":"invalid_argument"`) {
			t.Errorf("%d bytes: %s", size, answer)
		}
	}
}
