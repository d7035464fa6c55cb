import { useEffect, useState } from 'react';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { IdentityText, shortIdentity } from '../parts/identity.tsx';
import { complain } from '../parts/toast.tsx';
import { identityOfToken } from '../service/identities.ts';
import { serviceErrorOf } from '../service/load.ts';
import { session, setSession } from '../service/session-token.ts';
import { endSessionOf, type NewSession, redeemCode, takeLogin } from '../service/sessions.ts';

/** What the fragment of the address brought: a code, what failed at an issuer, or nothing. */
export interface Arrival {
  readonly isRedeeming: boolean;
  /** A session that this window did not ask for: somebody has to agree. */
  readonly offered: NewSession | null;
  readonly answer: (isWanted: boolean) => void;
}

/** Takes the fragment out of the address before anything else, and signs in by its code. */
export function useArrival(): Arrival {
  const [brought] = useState(takeFragment);
  const [isRedeeming, setRedeeming] = useState(brought.code !== null);
  const [offered, setOffered] = useState<NewSession | null>(null);
  useEffect(() => {
    if (brought.error !== null) {
      takeLogin();
      reportFault(brought.error);
    }
    if (brought.code === null) return;
    redeem(brought.code)
      .then(setOffered)
      .finally(() => setRedeeming(false));
  }, [brought]);
  const answer = (isWanted: boolean) => {
    if (offered === null) return;
    if (isWanted) setSession({ kind: 'token', token: offered.token });
    else void endSessionOf(offered.token);
    setOffered(null);
  };
  return { isRedeeming, offered, answer };
}

/**
 * Asks before an address signs somebody in: one who opens a stranger's link would work, and keep
 * secrets, as that stranger.
 */
export function OfferedSession({ offered, answer }: Pick<Arrival, 'offered' | 'answer'>) {
  if (offered === null) return null;
  const isOther = session.get().kind === 'token';
  const foot = (
    <>
      <Button onClick={() => answer(false)}>{isOther ? 'Stay as I am' : 'Do not sign in'}</Button>
      <Button kind="accent" onClick={() => answer(true)}>
        {isOther ? 'Switch' : 'Sign in'}
      </Button>
    </>
  );
  const name = shortIdentity(offered.identity);
  const title = isOther ? 'Sign in as somebody else?' : `Sign in as ${name}?`;
  return (
    <Dialog title={title} onClose={() => answer(false)} foot={foot}>
      <p>
        {isOther && `You are signed in as ${shortIdentity(identityOfToken() ?? 'somebody')}. `}
        The address that you opened signs you in as <IdentityText hex={offered.identity} />. Go on
        only if you opened it yourself: <code>reducerdb login show</code> prints your identity.
      </p>
    </Dialog>
  );
}

/** A code is worth one attempt, however often an effect runs. */
const redeemed = new Map<string, Promise<NewSession | null>>();

function redeem(code: string): Promise<NewSession | null> {
  const running = redeemed.get(code) ?? redeemOnce(code);
  redeemed.set(code, running);
  return running;
}

const oldCodeText =
  'This sign-in link was used or has expired. Ask for another one: reducerdb console.';

async function redeemOnce(code: string): Promise<NewSession | null> {
  try {
    const made = await redeemCode(code);
    const isAsked = takeLogin() && session.get().kind !== 'token';
    const isSame = session.get().kind === 'token' && identityOfToken() === made.identity;
    if (!isAsked && !isSame) return made;
    setSession({ kind: 'token', token: made.token });
  } catch (error) {
    const { status, message, hint = '' } = serviceErrorOf(error);
    reportFault(status === 401 ? oldCodeText : `${message} ${hint}`.trim());
  }
  return null;
}

/** A visitor who is signed in stays so: an address from elsewhere must not sign anyone out. */
function reportFault(why: string): void {
  if (session.get().kind === 'none') setSession({ kind: 'none', why });
  else complain('The sign-in did not work; you are signed in as before', new Error(why));
}

function takeFragment(): { readonly code: string | null; readonly error: string | null } {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const [code, error] = [fragment.get('code'), fragment.get('error')];
  if (code !== null || error !== null) {
    history.replaceState(null, '', location.pathname + location.search);
  }
  return { code, error };
}
