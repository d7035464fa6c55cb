import { useEffect, useState } from 'react';
import { Toasts } from '../parts/toast.tsx';
import { serviceErrorOf, useLoad } from '../service/load.ts';
import { readServiceInfo } from '../service/service-info.ts';
import { session, setSession } from '../service/session-token.ts';
import { redeemCode } from '../service/sessions.ts';
import { useStore } from '../service/store.ts';
import { ServiceProvider } from './database-context.tsx';
import { Frame } from './frame.tsx';
import type { PageEntry } from './page-entry.ts';
import { SignIn } from './sign-in.tsx';

/** The console: signed out it asks who one is, else it shows the page of the address. */
export function App({ pages }: { readonly pages: readonly PageEntry[] }) {
  const isRedeeming = useCode();
  const who = useStore(session);
  const info = useLoad('service', readServiceInfo).value ?? null;
  const shown = pages.filter(({ feature }) => {
    return feature === undefined || info?.features.has(feature) === true;
  });
  if (isRedeeming) return <main aria-busy="true" />;
  return (
    <ServiceProvider info={info}>
      {who.kind === 'none' ? (
        <SignIn info={info} why={who.why} />
      ) : (
        <Frame key={who.kind === 'token' ? who.token : who.kind} pages={shown} />
      )}
      <Toasts />
    </ServiceProvider>
  );
}

/** Redeems the code in the fragment, which is taken out of the address before anything else. */
function useCode(): boolean {
  const [code] = useState(takeCode);
  const [isRedeeming, setRedeeming] = useState(code !== null);
  useEffect(() => {
    if (code === null) return;
    redeem(code).finally(() => setRedeeming(false));
  }, [code]);
  return isRedeeming;
}

/** A code is worth one attempt, however often an effect runs. */
const redeemed = new Map<string, Promise<void>>();

function redeem(code: string): Promise<void> {
  const running = redeemed.get(code) ?? redeemOnce(code);
  redeemed.set(code, running);
  return running;
}

async function redeemOnce(code: string): Promise<void> {
  try {
    setSession({ kind: 'token', token: await redeemCode(code) });
  } catch (error) {
    const { message, hint = '' } = serviceErrorOf(error);
    setSession({ kind: 'none', why: `${message} ${hint}`.trim() });
  }
}

function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get('code');
  if (code !== null) history.replaceState(null, '', location.pathname + location.search);
  return code;
}
