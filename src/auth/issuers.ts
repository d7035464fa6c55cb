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

/** Keys are asked for again when they are this old, in the background. */
const refreshMillis = 300_000;
/** Keys as old as this were not needed for a while: whoever needs them waits for newer ones. */
const staleMillis = 2 * refreshMillis;
/** Nobody needed the issuer for this long: its keys are dropped. */
const unusedMillis = 2 * 3_600_000;
/** A `kid` that is not in the set makes it be read anew, but not more often than this. */
const unknownKeyMillis = 30_000;
/** An issuer that could not be asked is not asked again before this. */
const failureMillis = 5_000;

interface KnownIssuer {
  keys: readonly IssuerKey[] | undefined;
  /** Of the last attempt that gave keys, or did not. */
  triedMillis: number;
  usedMillis: number;
  fault: Error | undefined;
  fetching: Promise<void> | undefined;
}

export interface IssuersOptions {
  readonly nowMillis: () => number;
  /** Told when an issuer that the operator has named cannot be asked for its keys. */
  readonly report: (message: string) => void;
}

/**
 * Checks the tokens of OpenID Connect issuers: finds an issuer's keys by its discovery document,
 * keeps them, and notices when they are rotated.
 */
export class Issuers {
  readonly #rules: IssuerRules;
  readonly #options: IssuersOptions;
  /** In the order of use, the one that was not needed for longest first. */
  readonly #known = new Map<string, KnownIssuer>();
  /** Apart from each other: issuers that never gave keys take no place of those that did. */
  readonly #fetchCounts = { first: 0, again: 0 };

  constructor(rules: IssuerRules, options: Partial<IssuersOptions> = {}) {
    this.#rules = rules;
    this.#options = {
      nowMillis: options.nowMillis ?? (() => Date.now()),
      report: options.report ?? (() => undefined),
    };
  }

  /** Accepts a token whose claims were read but not believed yet, or throws `TokenError`. */
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

  /** The entry of an issuer, moved to the end; makes room for a new one. */
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

  /** One that gave no keys if there is one: whoever makes names up drives out no real issuer. */
  get #leastWorth(): string {
    const names = [...this.#known.keys()];
    const keyless = names.find((name) => this.#known.get(name)?.keys === undefined);
    return keyless ?? names[0] ?? '';
  }

  /** Everybody who needs the keys at this moment waits for one fetch. Never rejects. */
  #refresh(issuer: string, known: KnownIssuer): Promise<void> {
    known.fetching ??= this.#fetch(issuer, known.keys === undefined ? 'first' : 'again')
      .then(
        (keys) => {
          known.keys = keys;
          known.fault = undefined;
        },
        // Old keys stay: an issuer that cannot be reached for a while locks nobody out.
        (fault: Error) => {
          known.fault = fault;
          // Others may have any number of issuers that do not answer, by names of their choice.
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
      // An issuer that the operator has named may be anywhere.
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
