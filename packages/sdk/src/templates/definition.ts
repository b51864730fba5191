import type { IgnoreRules } from '../files/directory/ignore-rules.js';

/** How to sign in to the registry of an image. Used for the one build, and not kept. */
export type RegistryCredentials =
  | { type: 'registry'; username: string; password: string }
  | { type: 'aws'; awsAccessKeyId: string; awsSecretAccessKey: string; awsRegion: string }
  | { type: 'gcp'; serviceAccountJson: string };

/** What a template starts from. */
export type TemplateBase =
  | { readonly template: string }
  | { readonly image: string; readonly registry: RegistryCredentials | undefined };

/** Files that a step brings along. */
export interface CopySource {
  /** File, directory or pattern, relative to the context. */
  readonly source: string;
  readonly target: string;
}

/** One instruction. */
export interface TemplateStep {
  readonly type: 'RUN' | 'COPY' | 'ENV' | 'ARG' | 'USER' | 'WORKDIR';
  readonly args: readonly string[];
  /** Of COPY. */
  readonly copy: CopySource | undefined;
  /** Run this step and all after it again, whatever the cache holds. */
  readonly force: boolean;
}

/** What a template consists of. */
export interface TemplateDefinition {
  readonly base: TemplateBase;
  readonly steps: readonly TemplateStep[];
  readonly startCommand: string | undefined;
  readonly readyCommand: string | undefined;
  /** Directory that sources of COPY are relative to. Default: the working directory. */
  readonly contextDir: string | undefined;
  /** What COPY leaves out of directories. */
  readonly ignore: IgnoreRules | undefined;
  /** Whether the context's `.dockerignore` applies. */
  readonly dockerIgnore: boolean;
  /** Whether the next step breaks the cache. */
  readonly forceNext: boolean;
  /** What a Dockerfile has and this template does not, for the log of the build. */
  readonly warnings: readonly string[];
}
