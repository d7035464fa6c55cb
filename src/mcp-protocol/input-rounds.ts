/**
 * Asks the client for input during a request, in the manner of the modern era: the result lists
 * what is needed, and the client repeats the request with the answers and, unread, the state that
 * came with the questions.
 *
 * ```
 * request ─▶ inputRequests, requestState ─▶ request, inputResponses, requestState ─▶ … ─▶ result
 * ```
 */
import { JsonObject, type JsonValue, member } from '../values/json.ts';
import type { GivenInput, InputRequired } from './input-required.ts';
import { jsonText } from './json-text.ts';
import { requireCapabilities } from './required-capabilities.ts';
import { invalidParams } from './rpc-error.ts';
import { StateSeal } from './sealed-state.ts';
import type { Terms } from './terms.ts';
import type { Era } from './versions.ts';

const methodsWithRounds = ['tools/call', 'prompts/get', 'resources/read'];

/** The binding of a state: it opens only for the same request of the same caller. */
export interface RoundOrigin {
  readonly caller: string;
  readonly endpoint: string;
  readonly method: string;
  readonly params: JsonValue | undefined;
}

export class InputRounds {
  readonly #seal: StateSeal | undefined;

  /** Without a key, asking for input is impossible. */
  constructor(sealingKey: Uint8Array | undefined) {
    this.#seal = sealingKey === undefined ? undefined : new StateSeal(sealingKey);
  }

  /** Reads the answers in a repeated request; returns `undefined` for a new one. */
  async read(origin: RoundOrigin, era: Era): Promise<GivenInput | undefined> {
    if (era === 'legacy' || !methodsWithRounds.includes(origin.method)) return undefined;
    const responses = member(origin.params, 'inputResponses');
    const sealed = member(origin.params, 'requestState');
    if (responses === undefined && sealed === undefined) return undefined;
    const state = sealed === undefined ? undefined : await this.#open(sealed, origin);
    return { answers: readAnswers(responses), state };
  }

  /** Returns the members of a result that asks. Throws -32021 for undeclared capabilities. */
  async ask({ requests, state }: InputRequired, origin: RoundOrigin, terms: Terms) {
    requireCapabilities(Object.values(requests), terms);
    if (this.#seal === undefined) throw new Error('input is asked for without a sealing key');
    const requestState =
      state === undefined ? undefined : await this.#seal.seal(state, bindingOf(origin));
    return { resultType: 'input_required', inputRequests: requests, requestState };
  }

  async #open(sealed: JsonValue, origin: RoundOrigin): Promise<string> {
    const isText = typeof sealed === 'string';
    const state = isText ? await this.#seal?.open(sealed, bindingOf(origin)) : undefined;
    if (state !== undefined) return state;
    throw invalidParams('requestState is not of this request, or too old: start again without it');
  }
}

function readAnswers(responses: JsonValue | undefined): ReadonlyMap<string, JsonValue> {
  if (responses === undefined) return new Map();
  if (!(responses instanceof JsonObject)) throw invalidParams('inputResponses must be an object');
  const wrong = responses.entries.find(([, value]) => !(value instanceof JsonObject));
  if (wrong !== undefined) throw invalidParams(`inputResponses.${wrong[0]} must be an object`);
  return new Map(responses.entries);
}

/** The only members that differ between the rounds of one request. */
const roundMembers = ['inputResponses', 'requestState', '_meta'];

function bindingOf({ caller, endpoint, method, params }: RoundOrigin): string {
  const members = params instanceof JsonObject ? params.entries : [];
  const same = members.filter(([name]) => !roundMembers.includes(name));
  return jsonText([caller, endpoint, method, new JsonObject(same)]);
}
