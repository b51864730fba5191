package main

import (
	"errors"
	"flag"
	"io"
)

// options are how the program was asked to run.
type options struct {
	host string
	// port 0 is any free one.
	port uint
	// readyFD gets one JSON line `{"port":N}` once the daemon listens; -1: none does.
	readyFD int
	// home is that of every known name; empty: users are as the system has them.
	home string
}

// parseOptions reads the command line. Its error names the argument that is wrong.
func parseOptions(arguments []string) (options, error) {
	var parsed options
	var single bool
	flags := flag.NewFlagSet("envd", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&parsed.host, "host", "0.0.0.0", "address to listen on")
	flags.UintVar(&parsed.port, "port", 49983, "port to listen on")
	flags.IntVar(&parsed.readyFD, "ready-fd", -1, "descriptor that gets the port")
	flags.BoolVar(&single, "single-user", false, "never change the user")
	flags.StringVar(&parsed.home, "home", "", "home of the only user")
	if err := flags.Parse(arguments); err != nil {
		return options{}, err
	}
	switch {
	case flags.NArg() > 0:
		return options{}, errors.New("unknown argument " + flags.Arg(0))
	case parsed.port > 65_535:
		return options{}, errors.New("--port: not a number up to 65535")
	case single && parsed.home == "":
		return options{}, errors.New("--single-user needs --home")
	case !single:
		parsed.home = ""
	}
	return parsed, nil
}
