import { JsonReporter, type ReportedHookContext, type TestModule } from 'vitest/node';

interface Report {
  testResults: ReportedFile[];
}

interface ReportedFile {
  name: string;
  message: string;
  /** Vitest's project, such as `sqlite`; empty where a package has one alone. */
  project?: string;
  /** Its tests, hooks and imports one after another, seconds. */
  seconds?: number;
  setUps?: SetUp[];
}

/** A `beforeAll` or `afterAll`, or the import of a file with all that it imports. */
interface SetUp {
  name: string;
  seconds: number;
}

/**
 * Vitest's report as JSON, with what it leaves out: why the set-up of a group (`beforeAll` inside `describe`) failed, the
 * project of each file, and the time of set-ups. Tests of a set-up that failed count as skipped, so that without the reason the
 * report says that a file failed, and not why.
 */
export class JsonReporterWithSetUps extends JsonReporter {
  readonly #began = new Map<string, number>();
  readonly #setUps = new Map<string, SetUp[]>();
  #modules: readonly TestModule[] = [];

  onHookStart(hook: ReportedHookContext): void {
    if (hook.name === 'beforeAll' || hook.name === 'afterAll') this.#began.set(keyOf(hook), Date.now());
  }

  onHookEnd(hook: ReportedHookContext): void {
    const began = this.#began.get(keyOf(hook));
    if (began === undefined) return;
    this.#began.delete(keyOf(hook));
    const { entity } = hook;
    const module = entity.type === 'module' ? entity : entity.module;
    const group = entity.type === 'module' ? '' : ` of "${entity.fullName}"`;
    this.#add(module, { name: `${hook.name}${group}`, seconds: (Date.now() - began) / 1000 });
  }

  override async onTestRunEnd(modules: readonly TestModule[]): Promise<void> {
    this.#modules = modules;
    await super.onTestRunEnd(modules as TestModule[]);
  }

  override async writeReport(text: string): Promise<void> {
    const report = JSON.parse(text) as Report;
    // A file of two projects stands in the report twice; both lists are in the order of the run.
    report.testResults.forEach((file, index) => {
      const module = this.#modules[index]!;
      const { collectDuration, setupDuration, duration } = module.diagnostic();
      this.#add(module, { name: 'import', seconds: (collectDuration + setupDuration) / 1000 });
      file.message = messageOf(module) || file.message;
      file.project = module.project.name;
      file.seconds = (collectDuration + setupDuration + duration) / 1000;
      file.setUps = this.#setUps.get(module.id) ?? [];
    });
    await super.writeReport(JSON.stringify(report));
  }

  #add(module: TestModule, setUp: SetUp): void {
    const known = this.#setUps.get(module.id);
    if (known === undefined) this.#setUps.set(module.id, [setUp]);
    else known.push(setUp);
  }
}

const keyOf = ({ entity, name }: ReportedHookContext) => `${entity.id} ${name}`;

/** The errors of a file and of its groups, each under the name of its group. */
function messageOf(module: TestModule): string {
  const said = module.errors().map(({ stack, message }) => stack || message);
  for (const suite of module.children.allSuites())
    for (const { stack, message } of suite.errors())
      said.push(`set-up of "${suite.fullName}": ${stack || message}`);
  return said.join('\n');
}
