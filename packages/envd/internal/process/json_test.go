package process

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	wire "svc.example/envd/gen/process"
)

func outputEvents(output []byte) []*wire.ProcessEvent {
	var events []*wire.ProcessEvent
	for from := range stream(3) {
		var event outputEvent
		events = append(events, event.of(from, output))
	}
	return events
}

func TestOutputIsWrittenAsProtobufWouldWriteIt(t *testing.T) {
	for _, output := range [][]byte{nil, {}, []byte("a"), []byte("ab"), []byte("<&>\"\\\x00\xff"), bytes.Repeat([]byte{0xfb, 0xff}, 20_000)} {
		for _, event := range outputEvents(output) {
			for _, message := range []proto.Message{&wire.StartResponse{Event: event}, &wire.ConnectResponse{Event: event}} {
				text, err := JSON{}.MarshalAppend([]byte("before"), message)
				if err != nil {
					t.Fatal(err)
				}
				back := message.ProtoReflect().New().Interface()
				if err := protojson.Unmarshal(text[len("before"):], back); err != nil || !proto.Equal(back, message) {
					t.Errorf("%s: %v", text, err)
				}
			}
		}
	}
}

func TestOtherMessagesAreProtobufsJSON(t *testing.T) {
	for _, event := range []*wire.ProcessEvent{
		nil, {}, {Event: &wire.ProcessEvent_End{End: exited(3)}}, {Event: &wire.ProcessEvent_Data{Data: &wire.ProcessEvent_DataEvent{}}},
	} {
		message := &wire.StartResponse{Event: event}
		text, err := JSON{}.Marshal(message)
		back := &wire.StartResponse{}
		if err != nil || protojson.Unmarshal(text, back) != nil || !proto.Equal(back, message) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := (JSON{}).Unmarshal(nil, &wire.ListRequest{}); err == nil {
		t.Error("an empty text was read")
	}
	if err := (JSON{}).Unmarshal([]byte(`{"no_such_field":1}`), &wire.ListRequest{}); err != nil {
		t.Error(err)
	}
}

func inputMessage(input *wire.ProcessInput) *wire.StreamInputRequest {
	return &wire.StreamInputRequest{Event: &wire.StreamInputRequest_Data{Data: &wire.StreamInputRequest_DataEvent{Input: input}}}
}

func TestInputIsReadAsProtobufWouldReadIt(t *testing.T) {
	stdin := func(text string) *wire.StreamInputRequest {
		return inputMessage(&wire.ProcessInput{Input: &wire.ProcessInput_Stdin{Stdin: []byte(text)}})
	}
	for text, want := range map[string]*wire.StreamInputRequest{
		`{"data":{"input":{"stdin":"YWI="}}}`:                  stdin("ab"),
		`{"data":{"input":{"stdin":""}}}`:                      stdin(""),
		`{"data":{"input":{"stdin":"-_-_"}}}`:                  stdin("\xfb\xff\xbf"),
		`{ "data": {"input": {"stdin": "YWI="}}}`:              stdin("ab"),
		`{"data":{"input":{"stdin":"YWI="},"other":"x"}}`:      stdin("ab"),
		`{"data":{"input":{"stdin":"YWI=","other":{"x":""}}}}`: stdin("ab"),
		`{"data":{"input":{"pty":"YWI="}}}`:                    inputMessage(&wire.ProcessInput{Input: &wire.ProcessInput_Pty{Pty: []byte("ab")}}),
		`{"data":{"input":{"stdin":"YW I="}}}`:                 nil,
		"{\"data\":{\"input\":{\"stdin\":\"YW\nI=\"}}}":        nil,
		`{"data":{"input":{"stdin":"YWI="}}}}`:                 nil,
		`{"data":{"input":{"stdin":"YWI=","pty":"YWI="}}}`:     nil,
	} {
		read := &wire.StreamInputRequest{}
		err := JSON{}.Unmarshal([]byte(text), read)
		if (err == nil) != (want != nil) || want != nil && !proto.Equal(read, want) {
			t.Errorf("%s: %v %v", text, read, err)
		}
		if failed := protojson.Unmarshal([]byte(text), &wire.StreamInputRequest{}); want == nil && failed == nil {
			t.Errorf("%s: protobuf reads it", text)
		}
	}
}

func FuzzInput(f *testing.F) {
	f.Add([]byte(`{"data":{"input":{"stdin":"YWI="}}}`))
	f.Add([]byte(`{"data":{"input":{"pty":"YWI="}}}`))
	f.Add([]byte(`{"start":{"process":{"pid":1}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		ours, theirs := &wire.StreamInputRequest{}, &wire.StreamInputRequest{}
		err := JSON{}.Unmarshal(text, ours)
		failed := protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(text, theirs)
		if (err == nil) != (failed == nil) || err == nil && !proto.Equal(ours, theirs) {
			t.Errorf("%q: %v %v instead of %v %v", text, ours, err, theirs, failed)
		}
	})
}

func BenchmarkOutput(b *testing.B) {
	message := &wire.StartResponse{Event: outputEvents(make([]byte, bufferBytes))[0]}
	for name, write := range map[string]func([]byte) ([]byte, error){
		"ours":     func(to []byte) ([]byte, error) { return JSON{}.MarshalAppend(to, message) },
		"protobuf": func(to []byte) ([]byte, error) { return protojson.MarshalOptions{}.MarshalAppend(to, message) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(bufferBytes)
			var to []byte
			for b.Loop() {
				to, _ = write(to[:0])
			}
		})
	}
}

func BenchmarkInput(b *testing.B) {
	message := inputMessage(&wire.ProcessInput{Input: &wire.ProcessInput_Stdin{Stdin: make([]byte, bufferBytes)}})
	text, _ := protojson.Marshal(message)
	b.SetBytes(bufferBytes)
	for b.Loop() {
		if err := (JSON{}).Unmarshal(text, &wire.StreamInputRequest{}); err != nil {
			b.Fatal(err)
		}
	}
}
