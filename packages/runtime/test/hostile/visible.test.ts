import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { linuxBench } from '../support/linux-bench.js';
import { linuxSkipReason } from '../support/linux-host.js';

/**
 * Everything that is there for a program inside, by kind: files of /proc that say something, devices, mounts, what the
 * daemon holds open. Names that only differ by their number are one.
 */
const LOOK = `
cd /proc
for f in *; do
  case $f in [0-9]*|self|thread-self) continue ;; esac
  if [ -d "$f" ]; then [ -z "$(ls -A "$f" 2>/dev/null)" ] || echo "proc $f/"
  else [ -z "$(head -c 1 "$f" 2>/dev/null | tr '\\0' x)" ] || echo "proc $f"
  fi
done
find /proc/sys -type f -writable 2>/dev/null | sed 's/^/writable /'
find /dev -mindepth 1 | sed -E 's/[0-9]+$/N/; s/^/dev /'
find /sys -maxdepth 3 -mindepth 1 | sed 's/^/sys /'
sed -E 's/.* ([^ ]+) [^ ]+ .*- ([^ ]+) ([^ ]+) (.*)$/mount \\1 \\2 \\3 \\4/; s/(lowerdir|upperdir|workdir)=[^,]*/\\1/g; s/(size|nr_inodes|subvolid)=[^,]*/\\1/g; s/loop[0-9]+/loopN/' /proc/self/mountinfo |
  sed -E 's/^mount ([^ ]+) ([^ ]+) ([^ ]+) .*/mount \\1 \\2 \\3/' | sort -u
tr '\\0' '\\n' </proc/1/environ | sed -E 's/=.*//; s/^/variable /'
sed -E 's/.*:/cgroup /' /proc/self/cgroup | sort -u
`;

const ALLOWED = readFileSync(fileURLToPath(new URL('../fixtures/visible.txt', import.meta.url)), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));

const reason = linuxSkipReason();

describe.skipIf(reason !== undefined)('what a sandbox shows of its host', () => {
  const bench = linuxBench({ storeSizeMiB: 1024 });

  it.each(['root', 'user'])('is what the list allows and nothing else, to %s', async (user) => {
    const { client } = await bench.create();
    const { stdout } = await client.run(LOOK, user);
    const seen = [...new Set(stdout.trim().split('\n'))];
    expect(seen.length).toBeGreaterThan(40);
    const allowed = (line: string) =>
      ALLOWED.some((rule) => (rule.endsWith('*') ? line.startsWith(rule.slice(0, -1)) : line === rule));
    expect(seen.filter((line) => !allowed(line))).toEqual([]);
  });

  it('names no path of the host', async () => {
    const { client } = await bench.create();
    const shown = await client.run(
      'cat /proc/self/mountinfo /proc/mounts /proc/1/environ /proc/*/cmdline /proc/self/cgroup /proc/*/maps 2>/dev/null; ls -l /proc/*/fd /proc/*/exe /proc/*/cwd 2>/dev/null',
      'root',
    );
    expect(shown.stdout).not.toContain(bench.dataDir);
    expect(shown.stdout).not.toMatch(/\/(root|home)\/(?!user)\w+\/|\/var\/lib\/svc|\/tmp\/driver-/);
  });
});
