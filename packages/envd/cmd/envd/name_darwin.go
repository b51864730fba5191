package main

import "errors"

func nameMachine(string) error { return errors.New("the machine can be named on Linux only") }
