package main

import "golang.org/x/sys/unix"

func nameMachine(name string) error { return unix.Sethostname([]byte(name)) }
