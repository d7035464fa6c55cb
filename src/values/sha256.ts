/** The digest of `message` (FIPS 180-4), 32 bytes. */
export function sha256(message: Uint8Array): Uint8Array {
  const blocks = padded(message);
  const state = initialState.slice();
  const words: number[] = new Array(roundConstants.length).fill(0);
  for (let at = 0; at < blocks.byteLength; at += blockBytes) addBlock(state, words, blocks, at);
  const digest = new DataView(new ArrayBuffer(4 * state.length));
  state.forEach((word, index) => {
    digest.setInt32(4 * index, word);
  });
  return new Uint8Array(digest.buffer);
}

/** The message, one bit, zeros up to a whole block, and the number of its bits. */
function padded(message: Uint8Array): DataView {
  const length = message.byteLength;
  const bytes = new Uint8Array(blockBytes * Math.ceil((length + 9) / blockBytes));
  bytes.set(message);
  const view = new DataView(bytes.buffer);
  view.setUint8(length, 0x80);
  view.setBigUint64(bytes.byteLength - 8, BigInt(length) * 8n);
  return view;
}

/** Mixes the block at `at` into `state`. `words` is room for the schedule of one block. */
function addBlock(state: number[], words: number[], blocks: DataView, at: number): void {
  for (let index = 0; index < 16; index += 1) words[index] = blocks.getInt32(at + 4 * index);
  for (let index = 16; index < words.length; index += 1) {
    const early = words[index - 15] as number;
    const late = words[index - 2] as number;
    const earlySum = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3);
    const lateSum = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10);
    words[index] =
      ((words[index - 16] as number) + earlySum + (words[index - 7] as number) + lateSum) | 0;
  }
  let [a, b, c, d, e, f, g, h] = state as Eight;
  for (let round = 0; round < words.length; round += 1) {
    const choice = (e & f) ^ (~e & g);
    const sumOfE = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
    const added = (roundConstants[round] as number) + (words[round] as number);
    const mixed = (h + sumOfE + choice + added) | 0;
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const sumOfA = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
    h = g;
    g = f;
    f = e;
    e = (d + mixed) | 0;
    d = c;
    c = b;
    b = a;
    a = (mixed + sumOfA + majority) | 0;
  }
  const changes = [a, b, c, d, e, f, g, h];
  for (let index = 0; index < state.length; index += 1) {
    state[index] = ((state[index] as number) + (changes[index] as number)) | 0;
  }
}

function turned(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

type Eight = [number, number, number, number, number, number, number, number];

const blockBytes = 64;

// The first bits of the fractions of the square roots of the first 8 primes.
const initialState: readonly number[] = [
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

// The same of the cube roots of the first 64 primes.
const roundConstants: readonly number[] = [
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];
