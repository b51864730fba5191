// Package metrics measures the sandbox: by its cgroup where that is visible, else by the machine.
package metrics

import (
	"context"
	"math"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	mib = 1 << 20
	// sampleTime is how long processor time is watched.
	sampleTime = 50 * time.Millisecond
	// ticks of /proc/stat in a second, which Linux has fixed for programs.
	ticksPerSecond = 100
)

// Metrics is the answer of GET /metrics: sizes in bytes, MiB where the name says so; TS in seconds since 1970.
type Metrics struct {
	TS          int64   `json:"ts"`
	CPUCount    int     `json:"cpu_count"`
	CPUUsedPct  float64 `json:"cpu_used_pct"` // 0 to 100 over all processors
	MemTotal    uint64  `json:"mem_total"`
	MemUsed     uint64  `json:"mem_used"`
	MemCache    uint64  `json:"mem_cache"`
	MemTotalMiB uint64  `json:"mem_total_mib"`
	MemUsedMiB  uint64  `json:"mem_used_mib"`
	DiskUsed    uint64  `json:"disk_used"`
	DiskTotal   uint64  `json:"disk_total"`
}

// Read measures, which takes about 50 ms.
func Read(ctx context.Context) Metrics {
	count := cpuCount()
	usedPct := sampleCPU(ctx)
	total, used, cache := memory()
	diskUsed, diskTotal := disk()
	return Metrics{
		TS:          time.Now().Unix(),
		CPUCount:    count,
		CPUUsedPct:  min(100, math.Round(usedPct/float64(count)*100)/100),
		MemTotal:    total,
		MemUsed:     used,
		MemCache:    cache,
		MemTotalMiB: uint64(math.Round(float64(total) / mib)),
		MemUsedMiB:  uint64(math.Round(float64(used) / mib)),
		DiskUsed:    diskUsed,
		DiskTotal:   diskTotal,
	}
}

func cpuCount() int {
	fields := strings.Fields(text("/sys/fs/cgroup/cpu.max"))
	if len(fields) == 2 {
		quota, err1 := strconv.ParseFloat(fields[0], 64)
		period, err2 := strconv.ParseFloat(fields[1], 64)
		if err1 == nil && err2 == nil && period > 0 {
			return max(1, int(math.Round(quota/period)))
		}
	}
	quota, ok1 := number("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
	period, ok2 := number("/sys/fs/cgroup/cpu/cpu.cfs_period_us")
	if ok1 && ok2 && quota > 0 && period > 0 {
		return max(1, int(math.Round(float64(quota)/float64(period))))
	}
	return runtime.NumCPU()
}

// sampleCPU returns percent of one processor, over a short while.
func sampleCPU(ctx context.Context) float64 {
	before, begin := cpuTime(), time.Now()
	select {
	case <-time.After(sampleTime):
	case <-ctx.Done():
	}
	return max(0, float64(cpuTime()-before)/float64(time.Since(begin))*100)
}

var usage = regexp.MustCompile(`(?m)^usage_usec (\d+)`)

// cpuTime returns the processor time so far.
func cpuTime() time.Duration {
	if match := usage.FindStringSubmatch(text("/sys/fs/cgroup/cpu.stat")); match != nil {
		microseconds, _ := strconv.ParseInt(match[1], 10, 64)
		return time.Duration(microseconds) * time.Microsecond
	}
	if nanoseconds, ok := number("/sys/fs/cgroup/cpuacct/cpuacct.usage"); ok {
		return time.Duration(nanoseconds)
	}
	line, _, _ := strings.Cut(text("/proc/stat"), "\n")
	var busy int64
	for index, field := range strings.Fields(line) {
		// user, nice, system; idle and iowait are no work; irq.
		if index == 1 || index == 2 || index == 3 || index == 6 {
			value, _ := strconv.ParseInt(field, 10, 64)
			busy += value
		}
	}
	return time.Duration(busy) * time.Second / ticksPerSecond
}

var cacheLine = regexp.MustCompile(`(?m)^(?:total_cache|file|cache) (\d+)`)

func memory() (total, used, cache uint64) {
	info := text("/proc/meminfo")
	hostTotal, hostCache := kib(info, "MemTotal"), kib(info, "Cached")
	folder, limitName := "/sys/fs/cgroup/", "memory.max"
	current, ok := number("/sys/fs/cgroup/memory.current")
	if !ok {
		folder, limitName = "/sys/fs/cgroup/memory/", "memory.limit_in_bytes"
		current, ok = number(folder + "memory.usage_in_bytes")
	}
	if !ok {
		return hostTotal, below(hostTotal, kib(info, "MemFree")+hostCache+kib(info, "Buffers")), hostCache
	}
	total = hostTotal
	// "No limit" is `max` on v2 and a number near 2^63 on v1.
	if limit, limited := number(folder + limitName); limited && limit < total {
		total = limit
	}
	if match := cacheLine.FindStringSubmatch(text(folder + "memory.stat")); match != nil {
		cache, _ = strconv.ParseUint(match[1], 10, 64)
	}
	return total, below(current, cache), cache
}

func below(number, less uint64) uint64 {
	if less > number {
		return 0
	}
	return number - less
}

func kib(info, name string) uint64 {
	match := regexp.MustCompile(`(?m)^` + name + `: +(\d+)`).FindStringSubmatch(info)
	if match == nil {
		return 0
	}
	value, _ := strconv.ParseUint(match[1], 10, 64)
	return value * 1024
}

func disk() (used, total uint64) {
	var stat unix.Statfs_t
	if unix.Statfs("/", &stat) != nil {
		return 0, 0
	}
	size := uint64(stat.Bsize)
	return (stat.Blocks - stat.Bfree) * size, stat.Blocks * size
}

func text(path string) string {
	content, _ := os.ReadFile(path)
	return string(content)
}

func number(path string) (uint64, bool) {
	value, err := strconv.ParseUint(strings.TrimSpace(text(path)), 10, 64)
	return value, err == nil
}
