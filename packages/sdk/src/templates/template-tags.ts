import type { ClientCore } from '../calls/client-core.js';
import type { RequestOptions } from '../core/call-context.js';
import type { TemplateTag } from './template-info.js';
import { fromTag } from './wire.js';

const resource = 'template' as const;

/** Names within a template that point to builds. `name` alone means its tag `default`. */
export class TemplateTags {
  readonly #core: ClientCore;

  /** @internal */
  constructor(core: ClientCore) {
    this.#core = core;
  }

  /**
   * Sets tags on the build of a name; existing tags move to it.
   * @param target `[namespace/]name[:tag]`
   * @throws TemplateNotFoundError
   * @example
   * await client.templates.tags.assign('my-app:staging', ['production']);
   * @wire assignTemplateTags
   */
  async assign(
    target: string,
    tags: readonly string[],
    options: RequestOptions = {},
  ): Promise<{ tags: string[]; buildId: string }> {
    const data = await this.#core.platform.call(
      { operation: 'templates.tags.assign', resource, idempotent: true, options },
      (platform, fetch) => platform.POST('/templates/tags', { body: { target, tags: [...tags] }, fetch }),
    );
    return { tags: data.tags, buildId: data.buildID };
  }

  /**
   * Removes tags; builds stay. Unknown tags are ignored.
   * @param name `[namespace/]name`, without a tag
   * @throws TemplateNotFoundError, InvalidRequestError for `default`
   * @example
   * await client.templates.tags.delete('my-app', ['staging']);
   * @wire deleteTemplateTags
   */
  async delete(name: string, tags: readonly string[], options: RequestOptions = {}): Promise<void> {
    await this.#core.platform.call(
      { operation: 'templates.tags.delete', resource, options },
      (platform, fetch) => platform.DELETE('/templates/tags', { body: { name, tags: [...tags] }, fetch }),
    );
  }

  /**
   * Lists all tags of a template.
   * @throws TemplateNotFoundError
   * @example
   * const tags = await client.templates.tags.list('my-app');
   * @wire listTemplateTags
   */
  async list(idOrAlias: string, options: RequestOptions = {}): Promise<TemplateTag[]> {
    const data = await this.#core.platform.call(
      { operation: 'templates.tags.list', resource, options },
      (platform, fetch) =>
        platform.GET('/templates/{templateID}/tags', { params: { path: { templateID: idOrAlias } }, fetch }),
    );
    return data.map(fromTag);
  }
}
