package process

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"sync"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	wire "svc.example/envd/gen/process"
)

// JSON is the codec of the service. Output and streamed input it handles itself, at a third of the cost of the general way
// and with a hundredth of the garbage; everything else is protobuf's JSON.
type JSON struct{}

// Options adds what this service needs to the options of all services.
func Options(shared []connect.HandlerOption) []connect.HandlerOption {
	return append(slices.Clone(shared), connect.WithCodec(JSON{}))
}

// Name is how content types call it.
func (JSON) Name() string { return "json" }

// Marshal writes a message.
func (c JSON) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

// MarshalAppend writes a message behind what is there.
func (JSON) MarshalAppend(to []byte, message any) ([]byte, error) {
	if name, bytes := outputOf(message); name != "" {
		to = append(to, `{"event":{"data":{"`+name+`":"`...)
		to = base64.StdEncoding.AppendEncode(to, bytes)
		return append(to, `"}}}`...), nil
	}
	known, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no message", message)
	}
	return protojson.MarshalOptions{}.MarshalAppend(to, known)
}

// Unmarshal reads a message. It ignores fields that it does not know.
func (JSON) Unmarshal(text []byte, message any) error {
	known, ok := message.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is no message", message)
	}
	if input, ok := message.(*wire.StreamInputRequest); ok && readInput(text, input) {
		return nil
	}
	if len(text) == 0 {
		return errors.New("an empty text is no JSON object")
	}
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(text, known)
}

// outputOf returns the output of a message that has some, and the name of its field.
func outputOf(message any) (name string, bytes []byte) {
	var event *wire.ProcessEvent
	switch response := message.(type) {
	case *wire.StartResponse:
		event = response.Event
	case *wire.ConnectResponse:
		event = response.Event
	}
	switch output := event.GetData().GetOutput().(type) {
	case *wire.ProcessEvent_DataEvent_Stdout:
		return "stdout", output.Stdout
	case *wire.ProcessEvent_DataEvent_Stderr:
		return "stderr", output.Stderr
	case *wire.ProcessEvent_DataEvent_Pty:
		return "pty", output.Pty
	}
	return "", nil
}

// readInput reads a message of input as our own clients write it. It returns false for every other message, a faulty one too.
func readInput(text []byte, into *wire.StreamInputRequest) bool {
	text, isData := bytes.CutPrefix(text, []byte(`{"data":{"input":{"`))
	text, isWhole := bytes.CutSuffix(text, []byte(`"}}}`))
	kind, encoded, hasValue := bytes.Cut(text, []byte(`":"`))
	// The decoder would pass over line ends, which no JSON string has.
	if !isData || !isWhole || !hasValue || bytes.IndexByte(encoded, '\n') >= 0 || bytes.IndexByte(encoded, '\r') >= 0 {
		return false
	}
	value := takeInput(base64.StdEncoding.DecodedLen(len(encoded)))
	size, err := base64.StdEncoding.Decode(value, encoded)
	if err != nil {
		return false
	}
	input := &wire.ProcessInput{}
	switch string(kind) {
	case "stdin":
		input.Input = &wire.ProcessInput_Stdin{Stdin: value[:size]}
	case "pty":
		input.Input = &wire.ProcessInput_Pty{Pty: value[:size]}
	default:
		return false
	}
	into.Event = &wire.StreamInputRequest_Data{Data: &wire.StreamInputRequest_DataEvent{Input: input}}
	return true
}

// largestReused is the largest piece of input whose memory serves again.
const largestReused = 2 * 1024 * 1024

// inputs holds memory of pieces that have been written. Without it every MiB of input is a MiB of garbage.
var inputs sync.Pool

func takeInput(size int) []byte {
	if held, ok := inputs.Get().(*[]byte); ok && cap(*held) >= size {
		return (*held)[:size]
	}
	return make([]byte, size)
}

// giveInput says that nobody needs a piece any more.
func giveInput(piece []byte) {
	if size := cap(piece); size >= bufferBytes && size <= largestReused {
		inputs.Put(&piece)
	}
}
