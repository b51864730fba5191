#!/usr/bin/env bash
# github.com/pkg/sftp 1.13.12 (the newest on 2026-11-28), RequestServer: the attributes that a client sends with OPEN cannot be read by a
# handler. `Request.Attributes()` reads them by `Request.Flags`, and of an OPEN those are the flags of the opening (read, write,
# create, truncate), not those that say which attributes follow. The latter are lost.
#
# This opens a file for writing (WRITE, CREAT, TRUNC: 0x1a) with two attributes, size 4660 and owner 7:8, as SFTP version 3 allows
# (draft-ietf-secsh-filexfer-02, sections 5 and 6.3). The handler sees the owner 0:4660 and the times 7 and 8 in place of both. Seen:
#
#   open flags 0x1a, attributes sent: size 4660, owner 7:8
#   UidGid true, Size false, Permissions false, Acmodtime true
#   uid 0 gid 4660, size 0, times 7 8
#
# A server that wants to give a new file the mode that was asked for has to read the message itself, as ours does
# (packages/envd/internal/sftp, tested in packages/envd/test/sftp).
set -euo pipefail
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
mkdir "$work/program"
cd "$work/program"
export GOFLAGS=-mod=mod GOPATH="$work/go"
cat >go.mod <<'MOD'
module finding

go 1.25.0

require github.com/pkg/sftp v1.13.12
MOD
cat >main.go <<'GO'
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"

	"github.com/pkg/sftp"
)

type handler struct{}

func (handler) Filewrite(r *sftp.Request) (io.WriterAt, error) {
	given, stat := r.AttrFlags(), r.Attributes()
	fmt.Printf("UidGid %v, Size %v, Permissions %v, Acmodtime %v\n", given.UidGid, given.Size, given.Permissions, given.Acmodtime)
	fmt.Printf("uid %d gid %d, size %d, times %d %d\n", stat.UID, stat.GID, stat.Size, stat.Atime, stat.Mtime)
	return nil, sftp.ErrSSHFxPermissionDenied
}

func packet(fields ...any) []byte {
	var body bytes.Buffer
	for _, field := range fields {
		if text, ok := field.(string); ok {
			binary.Write(&body, binary.BigEndian, uint32(len(text)))
			body.WriteString(text)
			continue
		}
		binary.Write(&body, binary.BigEndian, field)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(body.Len())), body.Bytes()...)
}

func main() {
	ours, theirs := net.Pipe()
	memory := sftp.InMemHandler()
	memory.FilePut = handler{}
	server := sftp.NewRequestServer(theirs, memory)
	go server.Serve()
	go func() {
		ours.Write(packet(byte(1), uint32(3)))
		fmt.Println("open flags 0x1a, attributes sent: size 4660, owner 7:8")
		ours.Write(packet(byte(3), uint32(1), "/file", uint32(0x1a), uint32(0x1|0x2), uint64(4660), uint32(7), uint32(8)))
	}()
	for range 2 { // VERSION, STATUS
		head := make([]byte, 4)
		io.ReadFull(ours, head)
		io.CopyN(io.Discard, ours, int64(binary.BigEndian.Uint32(head)))
	}
}
GO
expected='open flags 0x1a, attributes sent: size 4660, owner 7:8
UidGid true, Size false, Permissions false, Acmodtime true
uid 0 gid 4660, size 0, times 7 8'
go mod tidy 2>/dev/null
seen=$(go run .)
printf '%s\n' "$seen"
[ "$seen" = "$expected" ] || { echo 'The behaviour has changed.' >&2; exit 1; }
