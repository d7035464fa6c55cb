import { Toasts } from '../parts/toast.tsx';
import { useLoad } from '../service/load.ts';
import { readServiceInfo } from '../service/service-info.ts';
import { session } from '../service/session-token.ts';
import { useStore } from '../service/store.ts';
import { OfferedSession, useArrival } from './arrival.tsx';
import { ServiceProvider } from './database-context.tsx';
import { Frame } from './frame.tsx';
import type { PageEntry } from './page-entry.ts';
import { SignIn } from './sign-in.tsx';

/** The console: signed out it asks who one is, else it shows the page of the address. */
export function App({ pages }: { readonly pages: readonly PageEntry[] }) {
  const { isRedeeming, offered, answer } = useArrival();
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
      <OfferedSession offered={offered} answer={answer} />
      <Toasts />
    </ServiceProvider>
  );
}
