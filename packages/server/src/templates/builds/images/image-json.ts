import { parseBoundedJson } from '../../../api/wire/bounded-json.js';
import { BuildError } from '../shared/build.js';

/** More than any image has. */
const BOUNDS = { maxDepth: 64, maxValues: 500_000 };

/** A value in the metadata of an image. A value of another type than the one asked for counts as missing. */
export class ImageJson {
  readonly #value: unknown;

  private constructor(value: unknown) {
    this.#value = value;
  }

  /** @throws {BuildError} when the text is no JSON, or more than an image needs */
  static parse(text: string): ImageJson {
    try {
      return new ImageJson(parseBoundedJson(Buffer.from(text), BOUNDS));
    } catch {
      throw new BuildError('a description in the image is no JSON, or nested too deep');
    }
  }

  get(name: string): ImageJson {
    const value = this.#value;
    const has = typeof value === 'object' && value !== null && Object.hasOwn(value, name);
    return new ImageJson(has ? (value as Record<string, unknown>)[name] : undefined);
  }

  get exists(): boolean {
    return this.#value !== undefined && this.#value !== null;
  }

  text(): string | undefined {
    return typeof this.#value === 'string' ? this.#value : undefined;
  }

  list(): ImageJson[] {
    return Array.isArray(this.#value) ? this.#value.map((each) => new ImageJson(each)) : [];
  }

  /** Those of a list that are texts. */
  texts(): string[] {
    return this.list().flatMap((each) => each.text() ?? []);
  }
}
