// speedscope itself, in a browser: opens each file as a person does and saves what it made of it.
//
//	import.js CHROMIUM FILE...
//
// Prints a line for each file: {"profiles": [{"name": ..., "unit": ..., "stacks": [[["root", "leaf"], weight], ...]}]}, or
// {"error": what the page says}.
'use strict';
const fs = require('fs');
const http = require('http');
const path = require('path');
const { chromium } = require('playwright-core');

const folder = path.join(path.dirname(require.resolve('speedscope/package.json')), 'dist', 'release');
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm' };

function serve() {
  const server = http.createServer((request, answer) => {
    const file = path.join(folder, path.basename(new URL(request.url, 'http://x').pathname));
    if (!fs.existsSync(file)) return answer.writeHead(404).end();
    return answer.writeHead(200, { 'Content-Type': types[path.extname(file)] || 'application/octet-stream' }).end(fs.readFileSync(file));
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

/** Stacks and their weights, from samples or from events: a frame opens, a frame closes. */
function stacksOf(profile, frames) {
  const stacks = [];
  const add = (open, weight) => { if (weight) stacks.push([open.map((at) => frames[at].name), weight]); };
  if (profile.type === 'sampled') {
    profile.samples.forEach((stack, i) => add(stack, profile.weights[i]));
    return stacks;
  }
  const open = [];
  let at = profile.startValue;
  for (const event of profile.events) {
    add(open, event.at - at);
    at = event.at;
    if (event.type === 'O') open.push(event.frame);
    else if (open.pop() !== event.frame) throw new Error('a frame closes that was not the last to open');
  }
  return stacks;
}

async function opened(browser, base, file) {
  const page = await browser.newPage({ acceptDownloads: true, viewport: { width: 800, height: 300 } });
  const faults = [];
  page.on('pageerror', (e) => faults.push(String(e)));
  page.on('dialog', (d) => { faults.push(d.message()); d.dismiss(); });
  page.on('request', (r) => { if (!r.url().startsWith(base) && !/^(data|blob):/.test(r.url())) faults.push(`left the host: ${r.url()}`); });
  page.setDefaultTimeout(60000);
  try {
    await page.goto(`${base}/index.html`);
    await page.setInputFiles('#file', file);
    const button = page.getByText('Export', { exact: false }).first();
    const wrong = page.getByText('Something went wrong', { exact: false }).first();
    await button.or(wrong).first().waitFor();
    if (await wrong.isVisible()) throw new Error(await wrong.innerText());
    const [saved] = await Promise.all([page.waitForEvent('download'), button.click()]);
    const told = JSON.parse(fs.readFileSync(await saved.path(), 'utf8'));
    if (faults.length) throw new Error(faults.join('; '));
    return { profiles: told.profiles.map((p) => ({ name: p.name, unit: p.unit, stacks: stacksOf(p, told.shared.frames) })) };
  } catch (e) {
    return { error: [...faults, String(e)].join('; ') };
  } finally {
    await page.close();
  }
}

async function main([executablePath, ...files]) {
  const server = await serve();
  const base = `http://127.0.0.1:${server.address().port}`;
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--enable-unsafe-swiftshader', '--disable-background-networking', '--disable-component-update', '--disable-sync'] });
  for (const file of files) console.log(JSON.stringify(await opened(browser, base, file)));
  await browser.close();
  server.close();
}

main(process.argv.slice(2)).catch((e) => { console.error(e); process.exit(1); });
