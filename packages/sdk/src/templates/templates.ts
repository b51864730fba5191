import type { ClientCore } from '../calls/client-core.js';
import { nextTokenOf } from '../calls/platform-caller.js';
import type { RequestOptions } from '../core/call-context.js';
import type { PageList } from '../core/page.js';
import { defined } from '../core/wire-values.js';
import { PermissionError } from '../errors/answer-errors.js';
import type { BuildOptions } from './build.js';
import type { Template } from './template.js';
import { TemplateAliases } from './template-aliases.js';
import { TemplateBuild } from './template-build.js';
import type { BuildLogEntry, TemplateDetail, TemplateInfo } from './template-info.js';
import { TemplateTags } from './template-tags.js';
import { fromTemplate, fromTemplateWithBuilds } from './wire.js';

const resource = 'template' as const;

/** Options of one page of a list. */
export interface PageOptions extends RequestOptions {
  /** Items on a page, 1 to 100. Default: the service's, 100. */
  limit?: number | undefined;
  /** `nextToken` of an earlier page: continues after it. */
  nextToken?: string | undefined;
}

/** The templates of the team: what sandboxes are created from. */
export class Templates {
  /** Tags of builds. */
  readonly tags: TemplateTags;
  /** Looks up names. */
  readonly aliases: TemplateAliases;
  readonly #core: ClientCore;

  /** @internal */
  constructor(core: ClientCore) {
    this.#core = core;
    this.tags = new TemplateTags(core);
    this.aliases = new TemplateAliases(core);
  }

  /**
   * Builds a template: uploads files that the service is missing and starts the build. Resolves once it is under way;
   * `wait()` of the handle gives the result, `logs()` the log.
   * @param onLog called with each log entry
   * @throws InvalidRequestError when files are missing or limits are exceeded, RateLimitError for too many builds at once
   * @example
   * const template = Template.from('base').run('npm install -g typescript');
   * await client.templates.build(template, { name: 'with-typescript' });
   * @wire createTemplate, getTemplateFilesLink, uploadTemplateFiles, startTemplateBuild
   */
  async build(
    template: Template,
    options: BuildOptions,
    onLog?: (entry: BuildLogEntry) => void,
  ): Promise<TemplateBuild> {
    const { buildTemplate } = await import('./build.js');
    return buildTemplate(this.#core, template, options, onLog);
  }

  /**
   * A handle of a build that was started by another program. Nothing is sent.
   * @example
   * const build = client.templates.openBuild({ templateId, buildId });
   */
  openBuild(build: { templateId: string; buildId: string }): TemplateBuild {
    return new TemplateBuild(this.#core, build);
  }

  /**
   * Lists the templates of the team, newest first: await a page, or iterate over all.
   * @example
   * for await (const { templateId, names } of client.templates.list()) console.log(templateId, names);
   * @wire listTemplatesV2
   */
  list(options: PageOptions = {}): PageList<TemplateInfo> {
    return this.#core.platform.list(
      { operation: 'templates.list', options },
      (platform, fetch, nextToken) =>
        platform.GET('/v2/templates', {
          params: { query: defined({ limit: options.limit, nextToken }) },
          fetch,
        }),
      fromTemplate,
    );
  }

  /**
   * Reads a template and a page of its builds, newest first.
   * @param idOrAlias identifier or alias
   * @throws TemplateNotFoundError
   * @example
   * const { builds } = await client.templates.get('my-app');
   * @wire getTemplate
   */
  async get(idOrAlias: string, options: PageOptions = {}): Promise<TemplateDetail> {
    const { limit, nextToken } = options;
    const { data, response } = await this.#core.platform.answer(
      { operation: 'templates.get', resource, options },
      (platform, fetch) =>
        platform.GET('/templates/{templateID}', {
          params: { path: { templateID: idOrAlias }, query: defined({ limit, nextToken }) },
          fetch,
        }),
    );
    return fromTemplateWithBuilds(data, nextTokenOf(response));
  }

  /**
   * Changes who may use a template. A snapshot that holds the memory of a sandbox is published only with
   * `publishMemory: true`: every team can then read what its programs had in memory, their variables and keys too.
   * Without it, publish a snapshot that was made with `memory: false`.
   * @returns the names of the template
   * @throws TemplateNotFoundError
   * @throws InvalidRequestError for memory that is not to be published
   * @example
   * await client.templates.update('my-app', { public: true });
   * @wire updateTemplateV2
   */
  async update(
    idOrAlias: string,
    change: { public?: boolean | undefined; publishMemory?: boolean | undefined },
    options: RequestOptions = {},
  ): Promise<{ names: string[] }> {
    const data = await this.#core.platform.call(
      { operation: 'templates.update', resource, idempotent: true, options },
      (platform, fetch) =>
        platform.PATCH('/v2/templates/{templateID}', {
          params: { path: { templateID: idOrAlias } },
          body: defined({ public: change.public, publishMemory: change.publishMemory }),
          fetch,
        }),
    );
    return { names: data.names };
  }

  /**
   * Deletes a template with its builds and tags. False when there was none.
   * @throws InvalidRequestError while sandboxes stand on it
   * @example
   * await client.templates.delete('my-app');
   * @wire deleteTemplate
   */
  delete(idOrAlias: string, options: RequestOptions = {}): Promise<boolean> {
    return this.#core.platform.delete(
      { operation: 'templates.delete', resource, options },
      (platform, fetch) =>
        platform.DELETE('/templates/{templateID}', { params: { path: { templateID: idOrAlias } }, fetch }),
    );
  }

  /**
   * Returns true when a name is taken, by this team or another.
   * @param name `[namespace/]alias[:tag]`
   * @example
   * if (!(await client.templates.exists('my-app'))) console.log('build it first');
   * @wire getTemplateAlias
   */
  async exists(name: string, options: RequestOptions = {}): Promise<boolean> {
    try {
      return (await this.aliases.find(name, options)) !== undefined;
    } catch (error) {
      if (PermissionError.is(error)) return true;
      throw error;
    }
  }
}
