import type { Exchange, Reply } from './exchange.ts';

/**
 * Whether an endpoint looks at the caller's token: `none` never; `optional` refuses a bad one and
 * is content without; `anonymous` makes an identity for a request without one; `required` refuses
 * it.
 */
export type TokenRule = 'none' | 'optional' | 'anonymous' | 'required';

/** Why a token is not enough: there is none, or it does not count. */
export type TokenFault = 'absent' | 'invalid';

export type Endpoint = (exchange: Exchange) => Promise<Reply> | Reply;

export interface Method {
  readonly run: Endpoint;
  readonly token: TokenRule;
  /** Publishing has a query parameter `token` of its own, so the bearer token is not read there. */
  readonly ignoresQueryToken?: true;
  /** Answers name the caller, as they do wherever anonymous ones get an identity. */
  readonly showsCaller?: true;
  /** The `WWW-Authenticate` header of a 401 for want of a token that counts. */
  readonly challenge?: (exchange: Exchange, fault: TokenFault) => string;
}

export interface Route {
  /** Path with `:name` parameters. */
  readonly path: string;
  readonly methods: Readonly<Record<string, Method>>;
  /** Answers whatever the method is. */
  readonly everyMethod?: Method;
  /**
   * Runs before a method that the path does not have is refused: an unknown database is 404 first.
   */
  readonly resolve?: (exchange: Exchange) => void;
  /**
   * Headers of the answer to a browser's preflight, and of every answer, instead of the open ones.
   */
  readonly cors?: (exchange: Exchange) => CorsAnswer;
}

export type CorsAnswer =
  | { readonly kind: 'allowed'; readonly headers: Readonly<Record<string, string>> }
  | { readonly kind: 'refused'; readonly reply: Reply };

/** The methods a path answers, as its `Allow` header lists them. */
export function allowedMethods(route: Route): string {
  const methods = Object.keys(route.methods).flatMap((method) =>
    method === 'GET' ? ['GET', 'HEAD'] : [method],
  );
  return methods.join(',');
}
