import { limits } from '../limits.ts';
import type { CallerIdentity } from '../values/identity-roles.ts';
import { callerOf } from './context.ts';
import { type Exchange, empty, json, type Reply } from './exchange.ts';
import { bareIdentity } from './path-identity.ts';
import type { Route } from './route.ts';

/**
 * Balances that older tools ask for. Nothing is ever charged or refused because of one, so only the
 * most recently changed ones are kept, in memory.
 */
class Balances {
  readonly #balances = new Map<CallerIdentity, bigint>();

  of(identity: CallerIdentity): bigint {
    return this.#balances.get(identity) ?? 0n;
  }

  add(identity: CallerIdentity, amount: bigint): bigint {
    const sum = this.of(identity) + amount;
    const balance = sum > balanceMax ? balanceMax : sum;
    this.#balances.delete(identity);
    this.#balances.set(identity, balance);
    const [oldest] = this.#balances.keys();
    if (this.#balances.size > limits.energyBalancesMax && oldest !== undefined) {
      this.#balances.delete(oldest);
    }
    return balance;
  }
}

const amountMax = 2n ** 128n - 1n;
const balanceMax = 2n ** 127n - 1n;

/** `/v1/energy/:identity`: kept for tools that expect every service to have accounts. */
export function energyRoute(): Route {
  const balances = new Balances();
  return {
    path: '/v1/energy/:identity',
    methods: {
      GET: { token: 'none', run: (exchange) => balanceReply(balances.of(bareIdentity(exchange))) },
      POST: { token: 'required', run: (exchange) => addEnergy(exchange, balances) },
      PUT: { token: 'required', run: () => empty(401) },
    },
  };
}

/** Adds to the caller's balance, regardless of the identity in the path. */
function addEnergy(exchange: Exchange, balances: Balances): Reply {
  const given = exchange.query.string('amount') ?? '';
  const amount = /^\d{1,39}$/.test(given) ? BigInt(given) : undefined;
  if (amount === undefined || amount > amountMax) return empty(400);
  return balanceReply(balances.add(callerOf(exchange).identity, amount));
}

function balanceReply(balance: bigint): Reply {
  return json(200, JSON.stringify({ balance: String(balance) }));
}
