import type { Api } from '../api.ts';

/** The service that `dev` publishes to: its own, or one that the user has named. */
export interface DevServer {
  readonly url: string;
  api(): Promise<Api>;
  /** Makes sure that it answers, if that is in the power of `dev`. */
  ensure(): Promise<void>;
  end(): Promise<void>;
  /** For the end of this process by surprise. */
  kill(): void;
}

/** A service that somebody else runs: nothing is started or ended. */
export function namedServer(api: Api): DevServer {
  return {
    url: api.server.url,
    api: async () => api,
    ensure: async () => undefined,
    end: async () => undefined,
    kill: () => undefined,
  };
}
