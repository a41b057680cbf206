// Makes the tarballs that are published: `agentv`, and a package with the program for each platform.
//
//   node packages/agentv/scripts/pack.js --out DIR [--man DIR] [linux-x64=PATH] [darwin-arm64=PATH] …
//
// `agentv` names all platforms as optional dependencies. They stand here and not in its package.json, since in this
// repository there is nothing to install them from.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const PLATFORMS = {
  'linux-x64': { os: ['linux'], cpu: ['x64'], libc: ['glibc'] },
  'linux-arm64': { os: ['linux'], cpu: ['arm64'], libc: ['glibc'] },
  'darwin-x64': { os: ['darwin'], cpu: ['x64'] },
  'darwin-arm64': { os: ['darwin'], cpu: ['arm64'] },
};

const wrapper = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const description = JSON.parse(readFileSync(join(wrapper, 'package.json'), 'utf8'));

function fail(message) {
  process.stderr.write(`error: ${message}\n`);
  process.exit(2);
}

/** Packs a folder. Of what lifecycle scripts there may be around, none is run. */
function pack(folder, out) {
  const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', out];
  const name = execFileSync('npm', args, { cwd: folder, encoding: 'utf8' }).trim();
  process.stdout.write(`${join(out, name)}\n`);
}

function writeJson(folder, value) {
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(value, null, 2)}\n`);
}

function packProgram(staging, platform, binary, out) {
  const folder = join(staging, platform);
  mkdirSync(join(folder, 'bin'), { recursive: true });
  cpSync(binary, join(folder, 'bin/agentv'));
  chmodSync(join(folder, 'bin/agentv'), 0o755);
  writeJson(folder, {
    name: `agentv-rs-${platform}`,
    version: description.version,
    description: `The agentv program for ${platform}. Install \`agentv-rs\` instead, which chooses the right one.`,
    license: description.license,
    ...PLATFORMS[platform],
    files: ['bin'],
    preferUnplugged: true,
  });
  pack(folder, out);
}

function packWrapper(staging, man, out) {
  const folder = join(staging, 'agentv');
  mkdirSync(folder);
  for (const entry of ['bin', 'README.md']) cpSync(join(wrapper, entry), join(folder, entry), { recursive: true });
  const names = Object.keys(PLATFORMS).map((platform) => [`agentv-rs-${platform}`, description.version]);
  const whole = { ...description, optionalDependencies: Object.fromEntries(names) };
  if (man !== undefined) {
    cpSync(man, join(folder, 'man'), { recursive: true });
    whole.files = [...whole.files, 'man'];
    whole.man = readdirSync(man).map((page) => `man/${page}`);
  }
  writeJson(folder, whole);
  pack(folder, out);
}

const { values, positionals } = parseArgs({
  options: { out: { type: 'string' }, man: { type: 'string' } },
  allowPositionals: true,
});
if (values.out === undefined) fail('usage: pack.js --out DIR [--man DIR] [PLATFORM=PATH…]');
const out = resolve(values.out);
mkdirSync(out, { recursive: true });
const staging = mkdtempSync(join(tmpdir(), 'agentv-pack-'));
try {
  for (const argument of positionals) {
    const [platform, binary] = argument.split('=', 2);
    if (!(platform in PLATFORMS) || binary === undefined) {
      fail(`\`${argument}\` must be PLATFORM=PATH; platforms: ${Object.keys(PLATFORMS).join(', ')}`);
    }
    packProgram(staging, platform, resolve(binary), out);
  }
  packWrapper(staging, values.man, out);
} finally {
  rmSync(staging, { recursive: true, force: true });
}
