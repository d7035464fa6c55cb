import {
  type AnchorHTMLAttributes,
  type MouseEvent,
  useCallback,
  useMemo,
  useSyncExternalStore,
} from 'react';

/**
 * The address of a view, below `/console/`: `/console/` is the host, `/console/db/shop/data` a page
 * of a database. All that a view shows (filters, a statement, the chosen row) is in the query, so
 * that the address can be shared.
 */
export interface Address {
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
}

const base = '/console/';
const moved = new EventTarget();

export function addressOf(location: { pathname: string; search: string }): Address {
  const rest = location.pathname.startsWith(base) ? location.pathname.slice(base.length) : '';
  const segments = rest.split('/').filter((segment) => segment !== '');
  return { segments: segments.map(decoded), query: new URLSearchParams(location.search) };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** The address of a page: of the host, or of a database. */
export function pageAddress(
  database: string | null,
  path: string,
  query: Readonly<Record<string, string>> = {},
): string {
  const below = database === null ? path : `db/${encodeURIComponent(database)}/${path}`;
  const search = new URLSearchParams(query).toString();
  return `${base}${below}${search === '' ? '' : `?${search}`}`;
}

export function navigate(address: string, options: { readonly isReplaced?: boolean } = {}): void {
  if (options.isReplaced === true) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  moved.dispatchEvent(new Event('moved'));
}

function subscribe(listener: () => void): () => void {
  moved.addEventListener('moved', listener);
  addEventListener('popstate', listener);
  return () => {
    moved.removeEventListener('moved', listener);
    removeEventListener('popstate', listener);
  };
}

export function useAddress(): Address {
  const place = useSyncExternalStore(subscribe, () => location.pathname + location.search);
  return useMemo(() => {
    const [pathname = '', search = ''] = place.split(/\?(.*)/s);
    return addressOf({ pathname, search });
  }, [place]);
}

/**
 * A part of the view that is kept in the query of the address. Setting it to the default leaves it
 * out. `step`: the step back in the browser undoes it; `replace`: it does not.
 */
export function useParam(
  name: string,
  standard = '',
  mode: 'step' | 'replace' = 'replace',
): readonly [string, (value: string) => void] {
  const { query } = useAddress();
  const set = useCallback(
    (value: string) => setParams({ [name]: value === standard ? null : value }, mode),
    [name, standard, mode],
  );
  return [query.get(name) ?? standard, set];
}

/** Sets several parts of the view at once; `null` leaves one out. */
export function setParams(
  values: Readonly<Record<string, string | null>>,
  mode: 'step' | 'replace' = 'replace',
): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(values)) {
    if (value === null) query.delete(name);
    else query.set(name, value);
  }
  const search = query.toString();
  const address = `${location.pathname}${search === '' ? '' : `?${search}`}`;
  if (address === location.pathname + location.search) return;
  navigate(address, { isReplaced: mode === 'replace' });
}

interface LinkProps extends AnchorHTMLAttributes<HTMLAnchorElement> {
  readonly to: string;
}

/** A link within the console; with a key held it opens another tab, as any link. */
export function Link({ to, onClick, ...rest }: LinkProps) {
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    const isOther = event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
    if (event.defaultPrevented || isOther || event.button !== 0) return;
    event.preventDefault();
    navigate(to);
  };
  return <a {...rest} href={to} onClick={follow} />;
}
