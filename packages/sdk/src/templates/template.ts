import { runtime } from '#runtime';
import { InvalidRequestError } from '../errors/answer-errors.js';
import type { IgnoreRules } from '../files/directory/ignore-rules.js';
import type { RegistryCredentials, TemplateDefinition, TemplateStep } from './definition.js';
import { applyDockerfile } from './dockerfile/apply.js';

/** Where the files of COPY come from. */
export interface TemplateContextOptions {
  /** Directory of this machine that sources of `copy` are relative to. Default: the working directory. */
  contextDir?: string | undefined;
  /** Entries that `copy` leaves out, in the language of `.gitignore`, relative to the context. */
  ignore?: IgnoreRules | undefined;
}

/** Options for reading a Dockerfile. */
export interface DockerfileOptions extends TemplateContextOptions {
  /** Values for its ARG instructions. */
  buildArgs?: Record<string, string> | undefined;
}

/**
 * The definition of a template. Immutable: every method gives a new one, so that one start can serve many templates.
 * Nothing is sent or read until `client.templates.build(template, ...)`.
 */
export class Template {
  /** @internal */
  readonly definition: TemplateDefinition;

  /** @internal Templates come from `from`, `fromImage` and `fromDockerfile`. */
  constructor(definition: TemplateDefinition) {
    this.definition = definition;
  }

  /**
   * Starts from another template.
   * @param template `[namespace/]name[:tag]`, or an identifier
   * @example
   * const template = Template.from('base').run('pip install numpy');
   */
  static from(template: string, options: TemplateContextOptions = {}): Template {
    return new Template({ ...empty, ...options, base: { template: required('Template.from', template) } });
  }

  /**
   * Starts from an OCI image, such as `python:3.12-slim`.
   * @example
   * const template = Template.fromImage('python:3.12-slim');
   */
  static fromImage(
    image: string,
    options: TemplateContextOptions & { registry?: RegistryCredentials | undefined } = {},
  ): Template {
    const { registry, ...context } = options;
    return new Template({
      ...empty,
      ...context,
      base: { image: required('Template.fromImage', image), registry },
    });
  }

  /**
   * Reads a Dockerfile: FROM (one), RUN, COPY, ADD of files, ENV, ARG, USER, WORKDIR, SHELL, CMD, ENTRYPOINT. As in Docker,
   * it begins as `root` in `/`, and variables have the image's values too; CMD and ENTRYPOINT become the start command.
   * FROM names an image, and `FROM base` the template of that name. A here-document without a command ends at its first
   * command that fails. The context's `.dockerignore` applies.
   *
   * EXPOSE, LABEL and MAINTAINER only describe an image and are skipped. HEALTHCHECK, STOPSIGNAL, VOLUME and
   * RUN --mount=type=cache or tmpfs have no effect, which the log of the build says. Every other unknown instruction is refused.
   * @param source its text, or the path of a file (Node only), whose directory then is the context
   * @throws InvalidRequestError naming the line that cannot be used
   * @example
   * const template = Template.fromDockerfile('FROM base\nRUN apt-get update && apt-get install -y jq');
   */
  static fromDockerfile(source: string, options: DockerfileOptions = {}): Template {
    const isText = /\n/.test(source) || /^\s*(#|FROM\s|ARG\s)/i.test(source);
    const text = isText ? source : readDockerfile(source);
    const contextDir = options.contextDir ?? (isText ? undefined : directoryOf(source));
    const { buildArgs = {}, ignore } = options;
    const startFrom = (image: string) =>
      new Template({
        ...empty,
        contextDir,
        ignore,
        dockerIgnore: true,
        // Registries have no image of this name.
        base: image === 'base' ? { template: image } : { image, registry: undefined },
      });
    const { template, warnings } = applyDockerfile<Template>(text, startFrom, buildArgs);
    return new Template({ ...template.definition, warnings });
  }

  /**
   * Runs a command by a login shell; one that fails fails the build.
   * @param command a line, or several that must all succeed
   * @example
   * const template = Template.from('base').run(['apt-get update', 'apt-get install -y jq'], { user: 'root' });
   */
  run(command: string | readonly string[], options: { user?: string | undefined } = {}): Template {
    const line = typeof command === 'string' ? command : command.join(' && ');
    return this.#add('RUN', [required('run', line), ...(options.user === undefined ? [] : [options.user])]);
  }

  /**
   * Copies files of this machine into the template.
   * @param source file, directory (its content is copied) or pattern (`*`, `?`, `[a-z]`, `**`), relative to the context
   * @param target a trailing `/` makes it a directory; relative to the working directory of the template
   * @param options `user`: owner, default the current user; `mode`: permission bits such as 0o755, default the source's
   * @example
   * const template = Template.from('base').copy('app/', '/srv/app/');
   */
  copy(
    source: string | readonly string[],
    target: string,
    options: { user?: string | undefined; mode?: number | undefined } = {},
  ): Template {
    const sources = typeof source === 'string' ? [source] : source;
    if (sources.length > 1 && !target.endsWith('/')) {
      throw new InvalidRequestError(
        `copy: with several sources the target must be a directory: write "${target}/".`,
      );
    }
    const { user = '', mode } = options;
    const bits = mode === undefined ? '' : mode.toString(8).padStart(3, '0');
    return sources.reduce<Template>((template, each) => {
      const copy = { source: required('copy', each), target: required('copy', target) };
      const args = [each, target, user, bits];
      while (args.at(-1) === '') args.pop();
      return template.#add('COPY', args, copy);
    }, this);
  }

  /**
   * Sets variables for the steps that follow and for sandboxes. `$NAME` in values stands for a variable of the image or of a step
   * before, as in a Dockerfile (`${NAME:-default}` too); `\\$` is a plain `$`.
   * @example
   * const template = Template.from('base').env({ NODE_ENV: 'production' });
   */
  env(variables: Record<string, string>): Template {
    const pairs = Object.entries(variables).flat();
    return pairs.length === 0 ? this : this.#add('ENV', pairs);
  }

  /**
   * Sets variables for the steps that follow, not for sandboxes. One of `env`, or of the image, goes before one of the same name.
   * @example
   * const template = Template.from('base').arg({ VERSION: '1.2.3' });
   */
  arg(variables: Record<string, string>): Template {
    const pairs = Object.entries(variables).flat();
    return pairs.length === 0 ? this : this.#add('ARG', pairs);
  }

  /**
   * Sets the working directory of what follows and of sandboxes, and makes it.
   * @example
   * const template = Template.from('base').workdir('/srv/app');
   */
  workdir(path: string): Template {
    return this.#add('WORKDIR', [required('workdir', path)]);
  }

  /**
   * Sets the user of what follows and of sandboxes, made when missing.
   * @example
   * const template = Template.from('base').user('app');
   */
  user(name: string, options: { sudo?: boolean | undefined } = {}): Template {
    return this.#add('USER', [required('user', name), ...(options.sudo === true ? ['true'] : [])]);
  }

  /**
   * Sets the program that runs in the background of every sandbox, and the check that it is ready. Sandboxes start with
   * it running already.
   * @param ready a command that exits with 0 when the template is ready, tried every 2 s for up to 10 minutes. Default: 20 s pass.
   * @example
   * const template = Template.from('base').start('node server.js', 'curl -sf localhost:3000/health');
   */
  start(command: string, ready?: string): Template {
    const startCommand = required('start', command);
    return new Template({
      ...this.definition,
      startCommand,
      ...(ready === undefined ? {} : { readyCommand: required('start', ready) }),
    });
  }

  /**
   * Sets the check that the template is ready, with or without a program of `start`.
   * @example
   * const template = Template.from('base').start('node server.js').ready('curl -sf localhost:3000');
   */
  ready(command: string): Template {
    return new Template({ ...this.definition, readyCommand: required('ready', command) });
  }

  /**
   * Makes the next step and all after it run again, despite the cache.
   * @example
   * const template = Template.from('base').skipCache().run('git pull');
   */
  skipCache(): Template {
    return new Template({ ...this.definition, forceNext: true });
  }

  #add(type: TemplateStep['type'], args: readonly string[], copy?: TemplateStep['copy']): Template {
    const { steps, forceNext } = this.definition;
    const step: TemplateStep = { type, args, copy, force: forceNext };
    return new Template({ ...this.definition, steps: [...steps, step], forceNext: false });
  }
}

const empty = {
  steps: [],
  startCommand: undefined,
  readyCommand: undefined,
  contextDir: undefined,
  ignore: undefined,
  dockerIgnore: false,
  forceNext: false,
  warnings: [],
} as const;

function required(method: string, value: string): string {
  if (typeof value === 'string' && value.trim() !== '') return value;
  throw new InvalidRequestError(
    `${method}: a text that is not empty is needed, got ${JSON.stringify(value) ?? 'nothing'}.`,
  );
}

function readDockerfile(path: string): string {
  try {
    return runtime.readLocalText(path);
  } catch (cause) {
    if (InvalidRequestError.is(cause)) throw cause;
    const { message } = cause as Error;
    throw new InvalidRequestError(
      `Template.fromDockerfile: ${path} cannot be read (${message}). Give the path of a Dockerfile, or its text.`,
      { cause },
    );
  }
}

function directoryOf(path: string): string {
  const end = Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\'));
  return end < 0 ? '.' : path.slice(0, end) || '/';
}
