# Installs a Rookery worker for the user who runs it:
#   irm @SERVER@/worker/install.ps1 | iex
# With an account, made ready to start:
#   $env:ROOKERY_ACCOUNT = 'NAME:TOKEN'; irm @SERVER@/worker/install.ps1 | iex
$installation = @'
@INSTALLATION@
'@
$found = $false
foreach ($python in 'python', 'python3', 'py') {
    if (-not (Get-Command $python -ErrorAction SilentlyContinue)) { continue }
    & $python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>$null
    if ($LASTEXITCODE -eq 0) {
        $found = $true
        $installation | & $python - '@SERVER@' '@WHEEL@' '@SHA256@' '@KEY@'
        break
    }
}
if (-not $found) {
    Write-Error 'install: Python 3.11 or newer is needed and was not found (https://www.python.org).'
}
