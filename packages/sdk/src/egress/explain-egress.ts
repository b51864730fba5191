import { explainEgress as explain, policyFromSettings, readEgress } from '@svc/network-policy';
import { InvalidRequestError } from '../errors/answer-errors.js';
import type { EgressOptions } from '../sandbox/options.js';

/** The effect of network settings on requests to a URL. */
export interface EgressExplanation {
  /** `depends`: on the address that the host has when it is looked up. */
  readonly verdict: 'allowed' | 'denied' | 'depends';
  /** The rule that decides: `allowOut[2] *.example.com`, `denyOut[0] 0.0.0.0/0`, `default`. */
  readonly rule: string;
  /** One sentence for a person. */
  readonly why: string;
  /** In lower case, without a trailing dot. */
  readonly host: string;
  readonly port: number;
  /** Names of headers that are set. Those with secrets or identity tokens are set over HTTPS alone. */
  readonly headers: readonly string[];
  /** True when the connection is opened to set them, with a certificate of the platform's authority. */
  readonly intercepted: boolean;
}

export interface ExplainEgressOptions {
  /** The address of the host, where the verdict may depend on it. */
  address?: string;
}

/**
 * Explains what the network settings of a sandbox do with requests to a URL, by the functions that decide in the service.
 * Nothing is sent.
 * @param settings as given to `Sandbox.create`: `network`, and `allowInternetAccess` beside it.
 * @param url of scheme http, https, ws or wss.
 * @throws InvalidRequestError for another URL, and naming an entry of the settings that is not one
 * @example
 * const { verdict, rule } = explainEgress({ denyOut: ['0.0.0.0/0'], allowOut: ['*.npmjs.org'] }, 'https://registry.npmjs.org/');
 */
export function explainEgress(
  settings: EgressOptions & { allowInternetAccess?: boolean | undefined },
  url: string | URL,
  options: ExplainEgressOptions = {},
): EgressExplanation {
  const { allowInternetAccess, allowOut, denyOut, rules } = settings;
  try {
    const read = readEgress({ allowOut, denyOut, rules });
    return explain(policyFromSettings(read, allowInternetAccess), url, options);
  } catch (error) {
    throw new InvalidRequestError((error as Error).message, { cause: error });
  }
}
