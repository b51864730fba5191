// A code interpreter that keeps state between calls: one Python process stays up, cells go in over stdin,
// results come back over stdout.
import { Sandbox } from '@svc/sdk';

const KERNEL = `
import contextlib, io, json, sys, traceback
scope = {}
for line in sys.stdin:
    out, error = io.StringIO(), None
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(json.loads(line), "cell", "exec"), scope)
        except BaseException:
            error = traceback.format_exc(limit=0).strip()
    print(json.dumps({"output": out.getvalue(), "error": error}), flush=True)
`;

class Interpreter {
  static async start(sandbox) {
    await sandbox.files.write('kernel.py', KERNEL);
    return new Interpreter(await sandbox.commands.start('python3 -u kernel.py', { stdin: true }));
  }

  constructor(process) {
    this.process = process;
    this.input = process.stdin.getWriter();
    this.answers = process.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(lines()).getReader();
  }

  async run(cell) {
    await this.input.write(`${JSON.stringify(cell)}\n`);
    const { value, done } = await this.answers.read();
    if (done) throw new Error('the interpreter ended');
    return JSON.parse(value);
  }

  async stop() {
    await this.input.close();
    await this.process.wait();
  }
}

/** Cuts text into lines. */
function lines() {
  let rest = '';
  return new TransformStream({
    transform(text, controller) {
      const parts = (rest + text).split('\n');
      rest = parts.pop();
      for (const part of parts) controller.enqueue(part);
    },
  });
}

const sandbox = await Sandbox.create();
try {
  const interpreter = await Interpreter.start(sandbox);

  for (const cell of ['x = 20', 'x += 22', 'print("x is", x)', 'print(1 / 0)', 'print("still here:", x)']) {
    const { output, error } = await interpreter.run(cell);
    console.log(`>>> ${cell}`);
    if (output) process.stdout.write(output);
    if (error) console.log(error);
  }
  await interpreter.stop();
} finally {
  await sandbox.kill();
}
