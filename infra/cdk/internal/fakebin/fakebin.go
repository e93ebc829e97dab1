// Package fakebin makes functions' binaries that can be packed, if not run, so that the stack's
// tests need no build of the functions.
package fakebin

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
)

// Write fills a folder with a bootstrap for each of the stack's functions, a program without
// instructions for the processor of this GOARCH.
func Write(dir, arch string) error {
	text, err := header(arch)
	if err != nil {
		return err
	}
	for _, function := range []string{"enqueue", "sort", "sweep", "process", "delivery", "ack",
		"webhook", "source"} {
		folder := filepath.Join(dir, function)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, "bootstrap"), text, 0o755); err != nil {
			return err
		}
	}
	return nil
}

func header(arch string) ([]byte, error) {
	machines := map[string]elf.Machine{"arm64": elf.EM_AARCH64, "amd64": elf.EM_X86_64}
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(machines[arch]),
		Version: uint32(elf.EV_CURRENT)}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS] = byte(elf.ELFCLASS64)
	h.Ident[elf.EI_DATA] = byte(elf.ELFDATA2LSB)
	h.Ident[elf.EI_VERSION] = byte(elf.EV_CURRENT)
	return binary.Append(nil, binary.LittleEndian, h)
}
