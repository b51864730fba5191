import type { ClientCore } from '../calls/client-core.js';
import type { RequestOptions } from '../core/call-context.js';
import { unlessMissing } from '../errors/unless-missing.js';

/** The template of a name. */
export interface TemplateAlias {
  readonly templateId: string;
  /** True when every team may use it. */
  readonly public: boolean;
}

/** Looks up the names of templates. */
export class TemplateAliases {
  readonly #core: ClientCore;

  /** @internal */
  constructor(core: ClientCore) {
    this.#core = core;
  }

  /**
   * Looks up a name.
   * @param alias `[namespace/]alias[:tag]`
   * @throws TemplateNotFoundError when it is free or its tag does not exist, PermissionError when another team has it
   * @example
   * const { templateId } = await client.templates.aliases.get('my-app');
   * @wire getTemplateAlias
   */
  async get(alias: string, options: RequestOptions = {}): Promise<TemplateAlias> {
    const data = await this.#core.platform.call(
      { operation: 'templates.aliases.get', resource: 'template', options },
      (platform, fetch) => platform.GET('/templates/aliases/{alias}', { params: { path: { alias } }, fetch }),
    );
    return { templateId: data.templateID, public: data.public };
  }

  /**
   * As `get`, but undefined for a name that is free.
   * @throws PermissionError when another team has it
   * @example
   * const alias = await client.templates.aliases.find('my-app');
   * @wire getTemplateAlias
   */
  find(alias: string, options: RequestOptions = {}): Promise<TemplateAlias | undefined> {
    return unlessMissing(this.get(alias, options));
  }
}
