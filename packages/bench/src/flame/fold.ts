/** The output of `node --cpu-prof`. */
export interface CpuProfile {
  /** µs of the monotonic clock. */
  startTime: number;
  nodes: readonly {
    id: number;
    callFrame: { functionName: string; url: string; lineNumber: number };
    children?: readonly number[];
  }[];
  samples: readonly number[];
  /** µs since the sample before. */
  timeDeltas: readonly number[];
}

/** Time in a function and what it calls, callers above it kept separate. */
export interface Frame {
  name: string;
  /** µs, with the callees. */
  total: number;
  callees: Map<string, Frame>;
}

// Waiting is no work; the loop that calls everything says nothing.
const LEFT_OUT = new Set(['(idle)', '(program)', '(root)']);

/** One tree of frames of the samples between two moments of the monotonic clock, µs. Pure. */
export function fold(profile: CpuProfile, from: number, to: number): Frame {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const callers = new Map(
    profile.nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node.id])),
  );
  const root: Frame = { name: 'all', total: 0, callees: new Map() };
  let at = profile.startTime;
  for (const [index, sample] of profile.samples.entries()) {
    at += profile.timeDeltas[index] ?? 0;
    const lasted = profile.timeDeltas[index + 1] ?? 0;
    if (at < from || at > to || LEFT_OUT.has(nodes.get(sample)?.callFrame.functionName ?? '')) continue;
    const names: string[] = [];
    for (let id: number | undefined = sample; id !== undefined; id = callers.get(id)) {
      const frame = nodes.get(id)?.callFrame;
      if (frame !== undefined && !LEFT_OUT.has(frame.functionName)) names.unshift(label(frame));
    }
    add(root, names, lasted);
  }
  return root;
}

function add(root: Frame, names: readonly string[], time: number): void {
  root.total += time;
  let caller = root;
  for (const name of names) {
    let callee = caller.callees.get(name);
    if (callee === undefined) caller.callees.set(name, (callee = { name, total: 0, callees: new Map() }));
    callee.total += time;
    caller = callee;
  }
}

/** The function, its file and the folder of that: paths of the machine stay out. */
function label({ functionName, url }: { functionName: string; url: string }): string {
  const place = url
    .replace(/^node:/, 'node/')
    .split('/')
    .slice(-2)
    .join('/');
  return `${functionName === '' ? '(anonymous)' : functionName}${place === '' ? '' : ` ${place}`}`;
}
