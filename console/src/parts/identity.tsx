import { Copy } from './copy.tsx';
import styles from './identity.module.css';

/** `c200a1…9f3e`: the first six digits and the last four. */
export function shortIdentity(hex: string): string {
  const digits = hex.replace(/^0x/, '');
  return digits.length > 12 ? `${digits.slice(0, 6)}…${digits.slice(-4)}` : digits;
}

/** A colour that belongs to an identity, so that the eye tells two of them apart. */
function hueOf(hex: string): number {
  return Number.parseInt(hex.replace(/^0x/, '').slice(-6), 16) % 360 || 0;
}

interface IdentityProps {
  readonly hex: string;
  readonly canCopy?: boolean;
}

/** An identity in its short form; its title and its copy are the whole one. */
export function IdentityText({ hex, canCopy = true }: IdentityProps) {
  return (
    <span className={styles.identity} title={hex}>
      <span
        className={styles.mark}
        style={{ background: `hsl(${hueOf(hex)} 45% 55%)` }}
        aria-hidden="true"
      />
      {shortIdentity(hex)}
      {canCopy && <Copy text={hex} what="identity" />}
    </span>
  );
}
