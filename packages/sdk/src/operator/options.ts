import type { ClientOptions } from '../config/options.js';

/** Settings of an operator client. What is left out comes from the environment, then from the defaults. */
export interface OperatorClientOptions
  extends Pick<
    ClientOptions,
    'fetch' | 'logger' | 'logLevel' | 'maxRetries' | 'requestTimeoutMs' | 'middleware' | 'userAgent'
  > {
  /** Address of the operator port; `SVC_OPERATOR_URL`. Default `http://localhost:3003`. */
  operatorUrl?: string | undefined;
  /**
   * The operator token; `SVC_OPERATOR_TOKEN`. It stands in `operator-token` in the server's data directory, unless the
   * server was given one.
   */
  token?: string | undefined;
}
