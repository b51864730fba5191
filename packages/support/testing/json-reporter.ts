import { JsonReporter, type TestModule } from 'vitest/node';

interface Report {
  testResults: { name: string; message: string }[];
}

/**
 * Vitest's report as JSON, with what it leaves out: why the set-up of a group (`beforeAll` inside `describe`) failed. Its tests
 * count as skipped, so that without this the report says that a file failed, and not why.
 */
export class JsonReporterWithSetUps extends JsonReporter {
  #messages = new Map<string, string>();

  override async onTestRunEnd(modules: readonly TestModule[]): Promise<void> {
    this.#messages = new Map(modules.map((module) => [module.moduleId, messageOf(module)]));
    await super.onTestRunEnd(modules as TestModule[]);
  }

  override async writeReport(text: string): Promise<void> {
    const report = JSON.parse(text) as Report;
    for (const file of report.testResults) {
      const message = this.#messages.get(file.name);
      if (message !== undefined && message !== '') file.message = message;
    }
    await super.writeReport(JSON.stringify(report));
  }
}

/** The errors of a file and of its groups, each under the name of its group. */
function messageOf(module: TestModule): string {
  const said = module.errors().map(({ stack, message }) => stack || message);
  for (const suite of module.children.allSuites())
    for (const { stack, message } of suite.errors())
      said.push(`set-up of "${suite.fullName}": ${stack || message}`);
  return said.join('\n');
}
