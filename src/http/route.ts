import type { PageVerdict } from '../auth/page-rules.ts';
import type { GivenWish } from '../doors/read-wish.ts';
import type { Exchange, Reply } from './exchange.ts';

/**
 * What an endpoint requires of the caller's token: `none` never reads it; `optional` rejects an
 * invalid one and accepts its absence; `anonymous` makes an identity if it is absent; `required`
 * rejects its absence.
 */
export type TokenRule = 'none' | 'optional' | 'anonymous' | 'required';

/** Why a token is rejected: it is absent or invalid. */
export type TokenFault = 'absent' | 'invalid';

export type Endpoint = (exchange: Exchange) => Promise<Reply> | Reply;

export interface Method {
  readonly run: Endpoint;
  /**
   * The database that a request is for where its path does not name one; asked in clusters alone,
   * where another host may have to answer.
   */
  readonly target?: (exchange: Exchange) => Promise<string | undefined>;
  /** Of reads: from which rows the client wants its answer. Throws `HttpError`. */
  readonly wish?: (exchange: Exchange) => GivenWish | undefined;
  /** True: the endpoint itself finds out whether a copy of this host will do. In clusters alone. */
  readonly takesOffer?: (exchange: Exchange) => Promise<boolean>;
  /** True: the host that is asked answers, also where another one leads the database. */
  readonly isOfHost?: true;
  readonly token: TokenRule;
  /** Publishing has a query parameter `token` of its own, so the bearer token is not read there. */
  readonly ignoresQueryToken?: true;
  /** Responses name the caller, as they always do where anonymous callers get an identity. */
  readonly showsCaller?: true;
  /** Returns the `WWW-Authenticate` header of a 401 for an absent or invalid token. */
  readonly challenge?: (exchange: Exchange, fault: TokenFault) => string;
}

export interface Route {
  /** Path with `:name` parameters. */
  readonly path: string;
  /** Its name in metrics; absent: the path. */
  readonly label?: string;
  /**
   * True: also at hosts of apps, where a path with a database must name that of the host. All that
   * a page needs of its own database, and no more.
   */
  readonly isOfApps?: true;
  /** True: answers have their own headers alone, for they are no answers of the API. */
  readonly isBare?: true;
  readonly methods: Readonly<Record<string, Method>>;
  /** Responds to every method. */
  readonly everyMethod?: Method;
  /** True where modules choose the statuses: metrics count them by their class alone. */
  readonly isOfModules?: true;
  /** Runs before an unsupported method is rejected, so that an unknown database is a 404 first. */
  readonly resolve?: (exchange: Exchange) => void;
  /**
   * Headers of preflights and of all responses, replacing the default open ones; the verdict is
   * that of the rules for pages.
   */
  readonly cors?: (exchange: Exchange, verdict: PageVerdict) => CorsAnswer;
}

export type CorsAnswer =
  | { readonly kind: 'allowed'; readonly headers: Readonly<Record<string, string>> }
  | { readonly kind: 'refused'; readonly reply: Reply };

/** Returns the methods of a path as its `Allow` header lists them. */
export function allowedMethods(route: Route): string {
  const methods = Object.keys(route.methods).flatMap((method) =>
    method === 'GET' ? ['GET', 'HEAD'] : [method],
  );
  return methods.join(',');
}
