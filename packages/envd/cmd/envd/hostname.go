package main

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// setHostname names the machine around it: `envd hostname NAME`, or `envd hostname -`, which waits for the name on its input. A
// kernel of a sandbox's own can only be named from inside, whatever programs the sandbox has.
func setHostname(arguments []string, input io.Reader) error {
	if len(arguments) != 1 {
		return errors.New("usage: envd hostname NAME|-")
	}
	name := arguments[0]
	if name == "-" {
		line, err := bufio.NewReader(input).ReadString('\n')
		if err != nil && err != io.EOF {
			return err
		}
		if name = strings.TrimSuffix(line, "\n"); name == "" {
			return nil // Whoever started this wants no name any more.
		}
	}
	return nameMachine(name)
}
