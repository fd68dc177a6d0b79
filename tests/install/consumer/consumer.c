/**
 *  The smallest program that uses an installed UForm. It must link, run, and see the version the headers came with.
 */
#include <stdio.h>
#include <string.h>

#include <uform/uform.h>

int main(void) {
    uform_model_t model = NULL;
    uform_status_t status = uform_model_load_ram("/nowhere", NULL, 0, NULL, &model);
    if (status != uform_status_not_found_k || model || !strstr(uform_last_detail(), "/nowhere")) return 1;
    printf("uform %s: %s\n", uform_version(), uform_status_name(status));
    return 0;
}
