import { Store } from './store.ts';

/** Who is signed in: somebody with a token, nobody by choice, or not decided yet. */
export type Session =
  | { readonly kind: 'none'; readonly why?: string }
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'token'; readonly token: string };

const key = 'reducerdb.session';

/** Kept in session storage: it ends with the tab, and other tabs do not see it. */
export const session = new Store<Session>(stored());

export function setSession(next: Session): void {
  if (next.kind === 'none') sessionStorage.removeItem(key);
  else sessionStorage.setItem(key, next.kind === 'token' ? `token ${next.token}` : 'anonymous');
  session.set(next);
}

export function currentToken(): string | undefined {
  const current = session.get();
  return current.kind === 'token' ? current.token : undefined;
}

function stored(): Session {
  const text = sessionStorage.getItem(key);
  if (text === 'anonymous') return { kind: 'anonymous' };
  return text?.startsWith('token ') === true
    ? { kind: 'token', token: text.slice('token '.length) }
    : { kind: 'none' };
}
