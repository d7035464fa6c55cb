import { compactVerify } from 'jose';
import { limits } from '../limits.ts';
import type { Claims } from './claims.ts';
import { discoveryAddress, keysAddressIn } from './discovery.ts';
import { type FetchRules, fetchJson } from './guarded-fetch.ts';
import { requireIssuerName } from './issuer-name.ts';
import type { IssuerRules } from './issuer-rules.ts';
import { type IssuerKey, keysFor, readKeySet } from './key-set.ts';
import { TokenError } from './token-json.ts';
import type { TokenParts } from './token-parts.ts';

/** Keys of this age are refreshed in the background. */
const refreshMillis = 300_000;
/** Keys of this age were not used for a while: a request that needs them waits for a refresh. */
const staleMillis = 2 * refreshMillis;
/** The keys of an issuer that was not used for this long are evicted. */
const unusedMillis = 2 * 3_600_000;
/** An unknown `kid` triggers a refresh, but no more often than this. */
const unknownKeyMillis = 30_000;
/** Minimum time between attempts to fetch the keys of an issuer that failed. */
const failureMillis = 5_000;

interface KnownIssuer {
  keys: readonly IssuerKey[] | undefined;
  /** Time of the last attempt, successful or not. */
  triedMillis: number;
  usedMillis: number;
  fault: Error | undefined;
  fetching: Promise<void> | undefined;
}

export interface IssuersOptions {
  readonly nowMillis: () => number;
  /** Called when the keys of an issuer that the operator named cannot be fetched. */
  readonly report: (message: string) => void;
}

/**
 * Verifies the tokens of OpenID Connect issuers: finds an issuer's keys through its discovery
 * document, caches them, and notices when they are rotated.
 */
export class Issuers {
  readonly #rules: IssuerRules;
  readonly #options: IssuersOptions;
  /** In order of use, least recently used first. */
  readonly #known = new Map<string, KnownIssuer>();
  /** Counted separately, so that issuers that never had keys cannot block those that did. */
  readonly #fetchCounts = { first: 0, again: 0 };

  constructor(rules: IssuerRules, options: Partial<IssuersOptions> = {}) {
    this.#rules = rules;
    this.#options = {
      nowMillis: options.nowMillis ?? (() => Date.now()),
      report: options.report ?? (() => undefined),
    };
  }

  /** Verifies a token whose claims were read but are not trusted yet, or throws `TokenError`. */
  async verify(token: string, { header }: TokenParts, claims: Claims): Promise<void> {
    const { issuer } = claims;
    requireIssuerName(issuer);
    this.#requireAccepted(claims);
    if (header.hasCritical || !algorithms.has(header.alg)) throw invalid('InvalidAlgorithm');
    const keys = await this.#keysFor(issuer, header.kid);
    let fault = invalid('InvalidSignature');
    for (const { key, algorithms: fitting } of keys) {
      if (!fitting.includes(header.alg)) {
        fault = invalid('InvalidAlgorithm');
        continue;
      }
      try {
        await compactVerify(token, key, { algorithms: [header.alg] });
        return;
      } catch (cause) {
        fault = invalid('InvalidSignature', cause);
      }
    }
    throw fault;
  }

  #isListed(issuer: string): boolean {
    return this.#rules.accepted?.some((one) => one.issuer === issuer) === true;
  }

  #requireAccepted({ issuer, audiences }: Claims): void {
    const { accepted } = this.#rules;
    if (accepted === undefined) return;
    const rule = accepted.find((one) => one.issuer === issuer);
    if (rule === undefined) throw new TokenError(`Issuer not accepted: "${issuer}"`);
    if (rule.audiences === undefined) return;
    if (audiences.some((audience) => rule.audiences?.includes(audience))) return;
    throw new TokenError(`Audience not accepted: tokens of "${issuer}" must be made for this host`);
  }

  async #keysFor(issuer: string, kid: string | undefined): Promise<readonly IssuerKey[]> {
    const known = this.#use(issuer);
    const age = this.#options.nowMillis() - known.triedMillis;
    if (known.keys === undefined) {
      if (known.fault === undefined || age >= failureMillis) await this.#refresh(issuer, known);
    } else if (kid !== undefined && !known.keys.some((key) => key.kid === kid)) {
      if (age >= unknownKeyMillis) await this.#refresh(issuer, known);
    } else if (age >= staleMillis) {
      await this.#refresh(issuer, known);
    } else if (age >= refreshMillis) {
      void this.#refresh(issuer, known);
    }
    if (known.keys === undefined) throw failed(issuer, known.fault);
    return keysFor(known.keys, kid);
  }

  /** Returns the entry of an issuer, moved to the end; evicts others to make room for a new one. */
  #use(issuer: string): KnownIssuer {
    const now = this.#options.nowMillis();
    const known = this.#known.get(issuer) ?? {
      keys: undefined,
      triedMillis: 0,
      usedMillis: now,
      fault: undefined,
      fetching: undefined,
    };
    known.usedMillis = now;
    this.#known.delete(issuer);
    for (const [name, { usedMillis }] of this.#known) {
      if (now - usedMillis < unusedMillis) break;
      this.#known.delete(name);
    }
    if (this.#known.size >= limits.issuersMax) this.#known.delete(this.#leastWorth);
    this.#known.set(issuer, known);
    return known;
  }

  /** The issuer to evict: one without keys if any, so invented names cannot evict real issuers. */
  get #leastWorth(): string {
    const names = [...this.#known.keys()];
    const keyless = names.find((name) => this.#known.get(name)?.keys === undefined);
    return keyless ?? names[0] ?? '';
  }

  /** Fetches the keys; concurrent callers share one fetch. Never rejects. */
  #refresh(issuer: string, known: KnownIssuer): Promise<void> {
    known.fetching ??= this.#fetch(issuer, known.keys === undefined ? 'first' : 'again')
      .then(
        (keys) => {
          known.keys = keys;
          known.fault = undefined;
        },
        // The old keys stay, so an issuer that is temporarily unreachable locks no one out.
        (fault: Error) => {
          known.fault = fault;
          // Not reported for unlisted issuers: their names are the sender's choice, in any number.
          if (!this.#isListed(issuer)) return;
          this.#options.report(`the keys of ${issuer} cannot be read: ${fault.message}`);
        },
      )
      .finally(() => {
        known.triedMillis = this.#options.nowMillis();
        known.fetching = undefined;
      });
    return known.fetching;
  }

  async #fetch(issuer: string, which: 'first' | 'again'): Promise<readonly IssuerKey[]> {
    const counts = this.#fetchCounts;
    if (counts[which] >= limits.issuerFetchesMax) {
      throw new Error('too many issuers are being asked for their keys');
    }
    counts[which] += 1;
    try {
      // An issuer that the operator named can be at any address.
      const rules = this.#isListed(issuer) ? everywhere : this.#rules;
      const { document, following } = await fetchJson(discoveryAddress(issuer), rules);
      const keys = await fetchJson(keysAddressIn(document, issuer), following);
      return readKeySet(keys.document);
    } finally {
      counts[which] -= 1;
    }
  }
}

const everywhere: FetchRules = { allowsLoopback: true, allowsPrivate: true };

const algorithms = new Set(['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA']);

function failed(issuer: string, cause: unknown): TokenError {
  if (cause instanceof TokenError) return cause;
  return new TokenError(`Error fetching public key for issuer ${issuer}`, { cause });
}

function invalid(what: string, cause?: unknown): TokenError {
  return new TokenError(`Invalid token: ${what}`, { cause });
}
